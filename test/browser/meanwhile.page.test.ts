import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { expectGoodPage } from './chromium.ts'
import { test } from './page-test.ts'
import { json, type StandIn } from './stand-in.ts'
import { at, DAY_MS, HELIX, KEYS, listOf, NOW, START } from './stand-in-data.ts'
import { WEBHOOKS } from './stand-in-operator.ts'
import { begunAt } from './stand-in-sale.ts'

/** Events elsewhere while the page is open: a sign-out, an upgrade, another operator's change, a model that leaves. */

const SIGNED_OUT = { kind: 'refusal', httpStatus: 401, message: 'Sign in first.' } as const

const KEY_LIST = json(listOf(KEYS))

/** Has the page read again what it shows, as a tab does that is opened again. */
async function comeBack(page: Page): Promise<void> {
  await page.evaluate(() => {
    globalThis.dispatchEvent(new Event('visibilitychange'))
    globalThis.dispatchEvent(new Event('focus'))
  })
}

/** The session ends, by which these paths are refused. */
function signOut(server: StandIn, ...paths: readonly string[]): void {
  server.answer('/start', json({ ...START, signed_in: false }))
  for (const path of paths) server.answer(path, SIGNED_OUT)
}

describe('a session that ends', () => {
  test('leaves an open dialog and what was typed, which is sent after a sign-in elsewhere', async ({
    page,
    server,
  }) => {
    await page.goto(`${server.address}/app/${at('keys?create=true')}`)
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    await dialog.getByLabel('Name', { exact: true }).fill('staging')
    signOut(server, '/keys')
    await comeBack(page)
    const words = dialog.getByRole('alert').filter({ hasText: 'You are signed out.' })
    const link = words.getByRole('link', { name: 'Sign in in another tab' })
    expect(await link.getAttribute('target')).toBe('_blank')
    server.answer('/start', json(START))
    server.answer('/keys', KEY_LIST)
    server.answer('POST /keys', json({ ...KEYS[0], name: 'staging', key: 'sk-tollgate-abc' }))
    await comeBack(page)
    await words.waitFor({ state: 'detached' })
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('staging')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Key “staging” is ready').waitFor()
  })

  test('leaves typed settings and a secret that was not copied, and says so above them', async ({
    page,
    server,
  }) => {
    const band = page.getByRole('alert', { name: 'Signed out' })
    const path = `/operator/accounts/${HELIX.id}`
    await page.goto(`${server.address}/app${path}/settings`)
    await page.getByLabel('Low-credit alert').fill('50')
    signOut(server, path)
    await comeBack(page)
    await band.waitFor()
    expect(await page.getByLabel('Low-credit alert').inputValue()).toBe('50')

    server.reset()
    server.answer('POST /keys', json({ ...KEYS[0], name: 'ci', key: 'sk-tollgate-abc' }))
    await page.goto(`${server.address}/app/${at('keys?create=true')}`)
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('ci')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const secret = page.getByLabel('The new key')
    await secret.waitFor()
    signOut(server, '/keys')
    await comeBack(page)
    await band.waitFor()
    expect(await secret.inputValue()).toBe('sk-tollgate-abc')
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  test('leaves the chat of the Playground', async ({ page, server }) => {
    server.answer(
      '/playground/chat',
      json({ choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }] }),
    )
    await page.goto(`${server.address}/app/${at('playground')}`)
    const draft = page.getByLabel('Message', { exact: true })
    await draft.fill('Say hello.')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Open in Activity').waitFor()
    signOut(server, '/playground/estimate')
    await draft.fill('half a thought')
    await page.getByRole('main').getByRole('alert', { name: 'Signed out' }).waitFor()
    await expectGoodPage(page)
    await page.getByText('Say hello.', { exact: true }).waitFor()
    expect(await draft.inputValue()).toBe('half a thought')
  })
})

test('the setup of a second factor leads to the sign-in when the session has ended', async ({
  page,
  server,
}) => {
  server.answer('/me', SIGNED_OUT)
  await page.goto(`${server.address}/app/set-up-second-factor`)
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
})

test('after the upgrade of an open page, a field that it does not know leads to a reload', async ({
  page,
  server,
}) => {
  const [key] = KEYS
  server.answer('/keys', json(listOf([{ ...key, state: 'frozen_by_a_later_version' }])))
  await page.goto(`${server.address}/app/${at('keys')}`)
  const words = page.getByText('tollgate may have been upgraded since this page was loaded.')
  await words.waitFor()
  await page.getByRole('link', { name: 'Credit' }).first().waitFor()
  server.answer('/keys', KEY_LIST)
  await page.getByRole('button', { name: 'Reload the page' }).click()
  await page.getByText('nightly evals').waitFor()
  expect(await words.count()).toBe(0)
})

test('a section that is gone after an upgrade asks before it ends the chat of the Playground', async ({
  ownPage: page,
  server,
}) => {
  await page.route('**/assets/members-*', (route) => route.fulfill({ status: 404 }))
  await page.goto(`${server.address}/app/${at('playground')}`)
  await page.getByLabel('Message', { exact: true }).fill('half a thought')
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByText('tollgate was upgraded.').waitFor()
  await page.getByRole('link', { name: 'Playground' }).first().click()
  const draft = page.getByLabel('Message', { exact: true })
  await draft.waitFor()
  expect(await draft.inputValue()).toBe('half a thought')
})

test('a change that needs the password stays typed if the script that asks for it is missing', async ({
  ownPage: page,
  server,
}) => {
  const error = { message: 'Enter your password again first.', code: 'sign_in_again', param: null }
  server.answer('POST /keys', { ...json({ error }), httpStatus: 403 })
  await page.route('**/assets/asked-again-*', (route) => route.abort())
  await page.goto(`${server.address}/app/${at('keys?create=true')}`)
  const dialog = page.getByRole('dialog', { name: 'Create key' })
  await dialog.getByLabel('Name', { exact: true }).fill('staging')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const asking = page.getByRole('dialog', { name: 'Enter your password' })
  await asking.getByText('this part of the page could not be loaded').waitFor()
  await asking.getByRole('link', { name: 'Sign in in another tab' }).waitFor()
  await asking.getByRole('button', { name: 'Close' }).click()
  await dialog.getByText('Enter your password again first.').waitFor()
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('staging')
})

test('a passkey whose script is missing says so in words', async ({ ownPage: page, server }) => {
  server.answer('POST /auth/factors/passkey/begin', json({ options: {} }))
  await page.route('**/assets/esm-*', (route) => route.abort())
  await page.goto(`${server.address}/app/profile`)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a passkey' })
  await dialog.getByRole('button', { name: 'Add a passkey' }).click()
  await dialog.getByText('This part of the page could not be loaded. Reload the page').waitFor()
})

test('a model that left the catalog is named, in its details, in Connect and in the Playground', async ({
  page,
  server,
}) => {
  const gone = 'model=acme/gone'
  await page.goto(`${server.address}/app/${at(`models?${gone}`)}`)
  const band = page.getByRole('region', { name: 'Model not found' })
  await band.getByText('acme/gone is not among the models of this account.').waitFor()
  await band.getByRole('button', { name: 'Close' }).click()
  await band.waitFor({ state: 'detached' })
  await page.goto(`${server.address}/app/${at(`connect?${gone}`)}`)
  await page.getByText('acme/gone can’t be used here.').waitFor()
  await page.goto(`${server.address}/app/${at(`playground?${gone}`)}`)
  await page.getByText('Choose another one.').waitFor()
})

test('a model that the gateway refuses is no longer in the list of the Playground', async ({
  page,
  server,
}) => {
  const error = { message: '“acme/gone” is not in the catalog.', code: 'model_not_found' }
  server.answer('/playground/chat', { ...json({ error }), httpStatus: 404 })
  await page.goto(`${server.address}/app/${at('playground')}`)
  await page.getByLabel('Message', { exact: true }).fill('Say hello.')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Choose another model, then send the message again.').waitFor()
  const reads = () => server.asked.filter((call) => call.endsWith('/models')).length
  await expect.poll(reads).toBe(2)
})

test('a browser whose clock is a day late asks for the newest requests, and says how old they are', async ({
  ownPage: page,
  server,
}) => {
  await page.clock.setFixedTime(NOW.getTime() - DAY_MS)
  await page.route('**/app/api/**', async (route) => {
    const response = await route.fetch()
    const headers = { ...response.headers(), date: NOW.toUTCString() }
    await route.fulfill({ response, headers })
  })
  await page.goto(`${server.address}/app/${at('activity?range=24h')}`)
  await page.getByText('Unresolved').first().waitFor()
  const since = server.asked.flatMap((call) => {
    const [, query] = call.split('/requests?')
    return new URLSearchParams(query).get('since') ?? []
  })
  expect(Date.parse(since[0] ?? '')).toBeGreaterThanOrEqual(NOW.getTime() - DAY_MS)
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByText('nightly evals').waitFor()
  expect(await page.getByText(/^0\ss ago$/).count()).toBe(0)
})

interface Turned {
  readonly name: string
  /** Below `/app/`. */
  readonly path: string
  readonly open: (page: Page) => Promise<void>
  readonly title: string
  /** The path whose answer changes, and how. */
  readonly changed: (server: StandIn) => void
}

const [WEBHOOK] = WEBHOOKS

const TURNED: readonly Turned[] = [
  {
    name: 'the suspension of an account',
    path: `operator/accounts/${HELIX.id}/settings`,
    async open(page) {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Suspend account' }).click()
    },
    title: `Suspend ${HELIX.name}?`,
    changed: (server) =>
      server.answer(
        `/operator/accounts/${HELIX.id}`,
        json({
          ...HELIX,
          state: 'suspended',
          disabled: true,
          disabled_at: NOW.toISOString(),
          disabled_note: null,
        }),
      ),
  },
  {
    name: 'a webhook',
    path: `operator/webhooks/${WEBHOOK?.id}`,
    open: (page) => page.getByRole('button', { name: 'Disable', exact: true }).click(),
    title: 'Disable the webhook?',
    changed: (server) =>
      server.answer(
        '/operator/webhooks',
        json(listOf(WEBHOOKS.map((each) => ({ ...each, disabled: true })))),
      ),
  },
  {
    name: 'maintenance',
    path: 'operator/health',
    open: (page) => page.getByRole('button', { name: 'Turn on', exact: true }).click(),
    title: 'Turn maintenance on?',
    changed: (server) => server.answer('/operator/maintenance', json({ enabled: true })),
  },
]

test.for(TURNED)(
  'a dialog about $name does not turn into its opposite when another operator is first',
  async ({ path, open, title, changed }, { page, server }) => {
    await page.goto(`${server.address}/app/${path}`)
    await open(page)
    const dialog: Locator = page.getByRole('dialog', { name: title })
    await dialog.waitFor()
    changed(server)
    const read = page.waitForResponse((response) => response.request().method() === 'GET')
    await comeBack(page)
    await read
    await page
      .getByText(/^(?:Suspended|Disabled|On)$/)
      .first()
      .waitFor()
    expect(await dialog.count()).toBe(1)
  },
)

test('a person who comes back from the payment page by Back can open it again', async ({
  page,
  server,
}) => {
  const url = 'https://pay.example/1'
  server.answer('POST /purchases', json(begunAt(url)))
  await page.route(url, (route) => route.fulfill({ status: 204 }))
  await page.goto(`${server.address}/app/${at('credit?open=buy')}`)
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByRole('button', { name: 'Opening the payment' }).waitFor()
  await page.evaluate(() =>
    globalThis.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })),
  )
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByRole('button', { name: 'Opening the payment' }).waitFor()
  expect(server.asked.filter((call) => call.startsWith('POST'))).toHaveLength(2)
})

test('Back closes a form that its button opened, and undoes a filter', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog', { name: 'Create key' }).waitFor()
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  await page.goto(`${server.address}/app/operator/accounts`)
  await page.getByRole('button', { name: 'In debt' }).click()
  await page.waitForURL('**/operator/accounts?state=in_debt')
  await page.getByRole('searchbox').fill('tern')
  await page.waitForURL('**/operator/accounts?state=in_debt&search=tern')
  await page.goBack()
  await page.waitForURL('**/operator/accounts')
})

test('a passkey of another address of tollgate is named at the sign-in', async ({
  page,
  server,
}) => {
  const factor_needed = { email: 'mira@helix.example', kinds: [] }
  server.answer('/start', json({ ...START, signed_in: false, factor_needed }))
  await page.goto(`${server.address}/app/second-factor`)
  await page.getByText('Your passkey belongs to another address of this service.').waitFor()
})

test('the confirmation of added credit has the amount that was sent, not one that was typed meanwhile', async ({
  ownPage: page,
  server,
}) => {
  const typed = Promise.withResolvers<void>()
  await page.route(/\/credit$/, async (route) => {
    await typed.promise
    await route.fulfill({ status: 201, json: {} })
  })
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  await page.getByRole('button', { name: 'Add credit' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add credit' })
  await dialog.getByLabel('Amount').fill('25')
  await dialog.getByLabel('Reference').fill('invoice-7')
  await dialog.getByRole('button', { name: 'Add $25.00' }).click()
  await dialog.getByLabel('Amount').fill('7')
  typed.resolve()
  await page.getByText('$25.00 of paid credit added.').waitFor()
})
