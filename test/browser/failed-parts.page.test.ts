import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectGoodPage } from './chromium.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, type StandIn } from './stand-in.ts'
import { at, FACTOR_REQUIRED, HELIX, ME, NEW_RECOVERY_CODES, START } from './stand-in-data.ts'
import { TOKENS } from './stand-in-operator.ts'

/** Parts of a screen whose own call failed: lists of options, an order by usage, counts. */

/** Opens the panel of a filter, in which a list could not be loaded; then it can be. */
async function expectFailedList(
  page: Page,
  { label, what, again }: { label: string; what: string; again: () => void },
): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).click()
  const panel = page.getByRole('dialog', { name: label })
  const words = panel.getByText(`${what} could not be loaded. The store is busy.`)
  await words.waitFor()
  expect(await panel.getByText('No match.').count()).toBe(0)
  await expectGoodPage(page)
  again()
  await panel.getByRole('button', { name: 'Try again' }).first().click()
  await words.waitFor({ state: 'detached' })
}

const NO_USAGE = { object: 'usage_report', by: 'model', data: [], totals: {} }

const FILTERS = [
  ['Model', 'The models', '/models', at('activity')],
  ['Model', 'The models with requests', '/usage/report', at('activity')],
  ['Key', 'The keys', '/keys', at('activity')],
  ['Key', 'The keys with requests', '/usage/report', at('activity')],
  ['Upstream', 'The upstreams', '/operator/upstreams', 'operator/activity'],
  ['Upstream', 'The upstreams with requests', '/operator/usage/report', 'operator/activity'],
  ['Account', 'The accounts', '/operator/accounts', 'operator/activity'],
  ['Person', 'The operators', '/operator/users', 'operator/audit-log'],
  ['Person', 'The admin tokens', '/operator/tokens', 'operator/audit-log'],
] as const

test.for(FILTERS)(
  'the filter %s says that %s could not be loaded, and tries again',
  async ([label, what, end, path], { page, server }) => {
    server.answer(end, down)
    await page.goto(`${server.address}/app/${path}`)
    const again = () => server.answer(end, json(end.endsWith('/report') ? NO_USAGE : EMPTY))
    await expectFailedList(page, { label, what, again })
  },
)

/** So many pages with one token each. */
function answerTokens(server: StandIn, count: number): void {
  const [token] = TOKENS
  server.answer('/operator/tokens', {
    kind: 'by',
    of(query) {
      const place = Number(query.get('cursor') ?? 0)
      const next = place + 1 < count ? String(place + 1) : null
      const data = [{ ...token, id: `atok_${place}`, name: `shop ${place}` }]
      return { object: 'list', data, has_more: next !== null, next_cursor: next }
    },
  })
}

test('the audit log can be filtered by each admin token, however many pages of them there are', async ({
  page,
  server,
}) => {
  answerTokens(server, 12)
  await page.goto(`${server.address}/app/operator/audit-log`)
  await page.getByRole('button', { name: 'Person', exact: true }).click()
  const panel = page.getByRole('dialog', { name: 'Person' })
  await panel.getByText('token shop 11').waitFor()
  await panel.getByLabel('Find: Person').fill('shop 1')
  await panel.getByLabel('token shop 11').check()
  await page.waitForURL(/by=atok_11/)
})

test('models are listed, and say so, where their usage could not be loaded', async ({
  page,
  server,
}) => {
  for (const [path, end, what] of [
    [`${at('models')}?model=openai/gpt-6-mini`, '/usage', 'Your use of the models'],
    ['operator/models?model=openai/gpt-6-mini', '/operator/usage/report', 'The use of the models'],
  ] as const) {
    server.answer(end, down)
    await page.goto(`${server.address}/app/${path}`)
    await page.getByText(`${what} could not be loaded. The store is busy.`).waitFor()
    await page.getByText('The usage could not be loaded: The store is busy.').waitFor()
    expect(await page.getByText('No requests in the last 30 days.').count()).toBe(0)
    await page.getByRole('table').getByText('black-forest/').waitFor()
    await expectGoodPage(page)
  }
})

test('a count in the side bar that could not be loaded is not missing', async ({
  page,
  server,
}) => {
  server.answer('/keys', down)
  await page.goto(`${server.address}/app/${at('connect')}`)
  await page.getByRole('link', { name: 'Keys number not loaded' }).waitFor()
  for (const end of ['accounts', 'unsettled', 'purchases']) server.answer(`/operator/${end}`, down)
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  for (const name of ['Accounts', 'Purchases', 'Unsettled', 'Keys']) {
    await page.getByRole('link', { name: `${name} number not loaded` }).waitFor()
  }
  await expectGoodPage(page)
})

test('the setup of a second factor says so where the server does not answer at its end', async ({
  page,
  server,
}) => {
  server.answer('/me', json(FACTOR_REQUIRED))
  server.answer('POST /auth/factors/app', json(NEW_RECOVERY_CODES))
  await page.goto(`${server.address}/app/set-up-second-factor`)
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await page.getByLabel('Code').fill('123456')
  await page.getByRole('button', { name: 'Turn on' }).click()
  const saved = page.getByRole('button', { name: 'I saved the codes' })
  await saved.waitFor()
  server.answer('/me', down)
  await saved.click()
  await page.getByRole('alert').getByText('The store is busy.').waitFor()
  server.answer('/me', json(ME))
  await saved.click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})

test('a second factor that was added is not added again where the server does not answer after it', async ({
  page,
  server,
}) => {
  server.answer('/me', json(FACTOR_REQUIRED))
  server.answer('POST /auth/factors/app', json({ ...NEW_RECOVERY_CODES, recovery_codes: null }))
  await page.goto(`${server.address}/app/set-up-second-factor`)
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await page.getByLabel('Code').fill('123456')
  server.answer('/me', down)
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByRole('alert').getByText('The store is busy.').waitFor()
  expect(await page.getByRole('button', { name: 'Turn on' }).count()).toBe(0)
  server.answer('/me', json(ME))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})

test.for([
  ['operator/operators', 'Invite an operator', 'Invite an operator'],
  [at('members'), 'Invite', 'Invite a person'],
] as const)(
  'after a sign-in, an invitation on %s says that the way to send it could not be loaded, and tries again',
  async ([path, button, title], { page, server }) => {
    server.answer('/start', json({ ...START, signed_in: false }))
    server.answer('/auth/sign-in', json(ME))
    await page.goto(`${server.address}/app/${path}`)
    await page.getByLabel('Email').fill('ada@example.org')
    await page.getByLabel('Password', { exact: true }).fill('a password')
    server.answer('/start', down)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: button, exact: true }).click()
    const dialog = page.getByRole('dialog', { name: title })
    await dialog.getByText(/^The way to send the invitation could not be loaded: /).waitFor()
    server.answer('/start', json(START))
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => dialog.getByRole('button', { name: 'Invite' }).isEnabled()).toBe(true)
  },
)
