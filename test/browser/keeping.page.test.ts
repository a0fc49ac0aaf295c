import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { copyBy, expectFits } from './chromium.ts'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { ANSWER_ID, json, type StandIn } from './stand-in.ts'
import { at, HELIX, KEYS, listOf, ME, NOW } from './stand-in-data.ts'
import { CODES, INVITATIONS } from './stand-in-operator.ts'
import { FIRST_OVERVIEW, OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** Work that is kept when a person moves on, changes that can be undone, and bands above every page. */

const LONG =
  'email triage, production, EU region, second queue, weekend cover, owned by the platform team'
const LONG_KEYS = listOf(KEYS.map((key, place) => (place === 1 ? { ...key, name: LONG } : key)))
const IN_DEBT = { backed: { balance: -4_200_000, held: 0, available: 0 } }
const SUSPENDED = {
  ...HELIX,
  state: 'suspended',
  disabled: true,
  disabled_at: '2026-11-20T12:00:00.000Z',
  disabled_note: 'Invoice 2026-104 is unpaid',
}
const MARKDOWN = [
  '# Steps',
  'Set `stream` to **true**. <img src=x onerror=alert(1)> [bad](javascript:alert(1)) [docs](https://docs.example/)',
  '```sh\ncurl "$URL"\n```',
  '1. one\n2. two',
  '| a | b |\n|---|--:|\n| 1 | 2 |',
].join('\n\n')
const ANSWER = { choices: [{ message: { content: MARKDOWN }, finish_reason: 'stop' }] }

const ask = async (page: Page) => {
  await page.getByLabel('Message', { exact: true }).fill('How do I stream?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Open in Activity').waitFor()
  await page.locator('.md').waitFor()
}

const SCREENS: readonly Screen[] = [
  ...answeredScreens({ path: at('keys'), pathEnd: '/keys' }, [
    ['keys-long-name', json(LONG_KEYS), 'email triage'],
  ]),
  {
    name: 'overview-in-debt',
    path: at('overview'),
    before(server) {
      const credit = { ...FIRST_OVERVIEW.credit, ...IN_DEBT, available: 0 }
      server.answer(`/accounts/${HELIX.id}`, json({ ...HELIX, credit }))
      server.answer('/overview', json({ ...OVERVIEW, credit }))
    },
    text: /^Paid credit−\u2060\$4\.20$/,
  },
  ...answeredScreens({ path: at('overview'), pathEnd: `/accounts/${HELIX.id}` }, [
    [
      'overview-suspended',
      json(SUSPENDED),
      /This account is suspended since 20\sNov\. Requests are refused\. Invoice 2026-104 is unpaid\. Contact the operator\./,
    ],
  ]),
  ...answeredScreens({ path: at('playground'), pathEnd: `/accounts/${HELIX.id}` }, [
    ['playground-suspended', json(SUSPENDED), /This account is suspended since 20\sNov\./],
  ]),
  {
    name: 'playground-answer',
    path: at('playground'),
    before(server) {
      server.answer('/playground/chat', json(ANSWER))
      server.answer(`/requests/${ANSWER_ID}`, json({ ...REQUESTS[4], id: ANSWER_ID }))
    },
    act: ask,
    text: 'Set',
  },
  {
    name: 'playground-picker',
    path: at('playground'),
    async act(page) {
      await page.locator('.pick').click()
      await page.getByRole('combobox').fill('mini')
    },
    text: 'gpt-6-mini',
  },
  {
    name: 'playground-code',
    path: at('playground'),
    act: press('View code'),
    text: 'Code of this request',
  },
]

testScreens(SCREENS)

describe('a new key', () => {
  const create = async (page: Page, address: string) => {
    await page.goto(`${address}/app/${at('keys?create=true')}`)
    await page.getByLabel('Name', { exact: true }).fill('ci')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await page.getByLabel('The new key').waitFor()
  }
  const MADE = { ...KEYS[0], name: 'ci', key: 'sk-tollgate-abc' }

  test('that was not copied is closed only after a question', async ({ page, server }) => {
    server.answer('POST /keys', json(MADE))
    await create(page, server.address)
    await page.getByRole('link', { name: 'Credit' }).first().click()
    await page.getByText('It cannot be shown again.').waitFor()
    await page.getByRole('button', { name: 'Stay' }).click()
    expect(await page.getByLabel('The new key').inputValue()).toBe('sk-tollgate-abc')
    await page.getByRole('link', { name: 'Credit' }).first().click()
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL(`${server.address}/app/${at('credit')}`)
    await create(page, server.address)
    await page.getByRole('button', { name: 'Done' }).click()
    const question = page.getByRole('dialog', { name: 'Close without copying the key?' })
    await question.getByRole('button', { name: 'Go back' }).click()
    expect(await page.getByLabel('The new key').inputValue()).toBe('sk-tollgate-abc')
    await page.getByRole('button', { name: 'Done' }).click()
    await question.getByRole('button', { name: 'Close' }).click()
    await page.getByLabel('The new key').waitFor({ state: 'detached' })
  })

  const createTwo = async (page: Page, server: StandIn) => {
    server.answer('POST /keys', json(MADE))
    await create(page, server.address)
    server.answer('POST /keys', json({ ...MADE, id: 'key_2', name: 'cd', key: 'sk-tollgate-def' }))
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('cd')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('region', { name: 'Key “cd” is ready' }).waitFor()
    return dialog
  }

  test('is asked about once with others that were not copied, before another page is opened', async ({
    page,
    server,
  }) => {
    await createTwo(page, server)
    await page.getByRole('link', { name: 'Credit' }).first().click()
    const question = page.getByRole('dialog', { name: 'Leave without copying the keys?' })
    await question.getByText('They cannot be shown again.').waitFor()
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL(`${server.address}/app/${at('credit')}`)
  })

  test('that was not copied stays below the next one, and each is closed by itself', async ({
    page,
    server,
  }) => {
    const dialog = await createTwo(page, server)
    const first = page.getByRole('region', { name: 'Key “ci” is ready' })
    const second = page.getByRole('region', { name: 'Key “cd” is ready' })
    expect(await second.getByLabel('The new key').inputValue()).toBe('sk-tollgate-def')
    expect(await first.getByLabel('The new key').inputValue()).toBe('sk-tollgate-abc')
    await second.getByRole('button', { name: 'Done' }).click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await second.waitFor({ state: 'detached' })
    expect(await first.getByLabel('The new key').inputValue()).toBe('sk-tollgate-abc')
  })

  test.for(['Copy the key', 'Copy the lines'])(
    'that was copied by “%s” is closed at once',
    async (label, { ownPage: page, server }) => {
      server.answer('POST /keys', json(MADE))
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await create(page, server.address)
      await copyBy(page, label)
      await page.getByRole('link', { name: 'Credit' }).first().click()
      await page.waitForURL(`${server.address}/app/${at('credit')}`)
    },
  )
})

test('a disabled key is enabled again by Undo', async ({ page, server }) => {
  const key = KEYS[0]
  server.answer(`PATCH /keys/${key?.id}`, json({ ...key, disabled: true }))
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).last().click()
  await page.getByText('Key disabled.').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Undone.').waitFor()
  const changes = server.asked.filter((call) => call.startsWith('PATCH'))
  expect(changes).toEqual(Array(2).fill(`PATCH accounts/${HELIX.id}/keys/${key?.id}`))
})

describe('the Playground', () => {
  test('closes the code of a request by a button', async ({ page, server }) => {
    await page.goto(`${server.address}/app/${at('playground')}`)
    await page.getByRole('button', { name: 'View code' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('keeps the chat through the sections, and ends it with a reload', async ({
    ownPage: page,
    server,
  }) => {
    server.answer('/playground/chat', json(ANSWER))
    await page.goto(`${server.address}/app/${at('playground')}`)
    await ask(page)
    await page.getByLabel('Message', { exact: true }).fill('half a thought')
    await page.getByRole('link', { name: 'Models' }).first().click()
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'Playground' }).first().click()
    await page.getByText('How do I stream?').waitFor()
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('half a thought')
    await page.reload()
    await page.getByRole('heading', { name: 'Playground' }).waitFor()
    expect(await page.getByText('How do I stream?').count()).toBe(0)
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBeLessThan(2)
  })

  test('forgets the chat when another account is opened', async ({ page, server }) => {
    server.answer('/playground/chat', json(ANSWER))
    await page.goto(`${server.address}/app/${at('playground')}`)
    await ask(page)
    await page.getByRole('button', { name: 'Helix Lab' }).click()
    await page.getByRole('link', { name: 'Night Shift' }).click()
    await page.waitForURL(`**/${ME.accounts[1]?.id}/overview`)
    // The address changes before the page does.
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Playground' }).first().click()
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor()
    expect(await page.getByText('How do I stream?').count()).toBe(0)
  })

  test('draws Markdown as elements, tags and unsafe links as text', async ({ page, server }) => {
    server.answer('/playground/chat', json(ANSWER))
    await page.goto(`${server.address}/app/${at('playground')}`)
    await ask(page)
    const answer = page.locator('.md')
    expect(await answer.locator('img').count()).toBe(0)
    expect(
      await answer.locator('a').evaluateAll((links) => links.map((a) => a.getAttribute('href'))),
    ).toEqual(['https://docs.example/'])
    expect(await answer.locator('a').getAttribute('rel')).toBe('noopener noreferrer')
    expect(await answer.locator('pre').textContent()).toBe('curl "$URL"')
    expect(await answer.textContent()).toContain('<img src=x onerror=alert(1)>')
    expect(await answer.textContent()).toContain('[bad](javascript:alert(1))')
  })

  test('shows an answer as plain text if the script of Markdown cannot be loaded', async ({
    ownPage: page,
    server,
  }) => {
    server.answer('/playground/chat', json(ANSWER))
    await page.route('**/assets/markdown-*', (route) => route.abort())
    await page.goto(`${server.address}/app/${at('playground')}`)
    await page.getByLabel('Message', { exact: true }).fill('How do I stream?')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Open in Activity').waitFor()
    await expect.poll(() => page.locator('.said.assistant .text').textContent()).toBe(MARKDOWN)
  })
})

describe('a suspended account', () => {
  test('has the band on every page, in the Playground in place of the composer', async ({
    page,
    server,
  }) => {
    server.answer(`/accounts/${HELIX.id}`, json(SUSPENDED))
    const band = page.getByRole('region', { name: 'Suspended' })
    for (const section of [
      'overview',
      'activity',
      'usage',
      'keys',
      'credit',
      'models',
      'members',
    ]) {
      await page.goto(`${server.address}/app/${at(section)}`)
      await band.waitFor()
      expect(await band.textContent(), section).toBe(
        'This account is suspended since 20\u00a0Nov. Requests are refused. Invoice 2026-104 is unpaid. Contact the operator.',
      )
    }
    await page.goto(`${server.address}/app/${at('playground')}`)
    await page.getByRole('region', { name: 'Conversation' }).locator(band).waitFor()
    expect(await band.count()).toBe(1)
    expect(await page.getByLabel('Message', { exact: true }).count()).toBe(0)
  })

  test('that is resumed elsewhere loses its band within 15 seconds', async ({
    ownPage: page,
    server,
  }) => {
    server.answer(`/accounts/${HELIX.id}`, json(SUSPENDED))
    await page.clock.install({ time: NOW })
    await page.goto(`${server.address}/app/${at('connect')}`)
    const band = page.getByRole('region', { name: 'Suspended' })
    await band.waitFor()
    server.answer(`/accounts/${HELIX.id}`, json(HELIX))
    await page.clock.runFor(15_000)
    await band.waitFor({ state: 'detached' })
  })

  test('has the state Suspended on its keys', async ({ page, server }) => {
    server.answer(`/accounts/${HELIX.id}`, json(SUSPENDED))
    const keys = KEYS.map((key) => ({ ...key, state: 'account_suspended' }))
    server.answer('/keys', json(listOf(keys)))
    await page.goto(`${server.address}/app/${at('keys')}`)
    await expect.poll(() => page.getByText('Account suspended').count()).toBe(KEYS.length)
    expect(await page.getByText('Active', { exact: true }).count()).toBe(0)
  })

  test('from before times were recorded has no date and no note', async ({ page, server }) => {
    const old = { ...SUSPENDED, disabled_at: null, disabled_note: null }
    server.answer(`/accounts/${HELIX.id}`, json(old))
    await page.goto(`${server.address}/app/${at('overview')}`)
    const band = page.getByRole('region', { name: 'Suspended' })
    await band.waitFor()
    expect(await band.textContent()).toBe(
      'This account is suspended. Requests are refused. Contact the operator.',
    )
  })
})

test('a name of 92 characters pushes no column out of its card', async ({ page, server }) => {
  server.answer('/keys', json(LONG_KEYS))
  await page.goto(`${server.address}/app/${at('keys')}`)
  const cell = page.getByTitle(LONG)
  await cell.waitFor()
  const over = await page
    .locator('table')
    .first()
    .evaluate((table) => table.scrollWidth - (table.closest('.card')?.clientWidth ?? 0))
  expect(over).toBeLessThanOrEqual(0)
})

test.for(['desk', 'phone'] as const)(
  'a key name of 92 characters pushes no column of Activity out of its card, on a %s',
  async (width, { pages, server }) => {
    const { page } = await pages.of(width)
    // Without spaces, and so without a place where a line can break.
    const name = LONG.replaceAll(/[ ,]+/g, '-')
    server.answer('/keys', json(listOf(KEYS.map((key) => ({ ...key, name })))))
    await page.goto(`${server.address}/app/${at('activity')}`)
    await page.getByText(name).filter({ visible: true }).first().waitFor()
    await expectFits(page)
  },
)

test('a new key, code or invitation that is ended is no longer shown, and leaving does not ask about it', async ({
  page,
  server,
}) => {
  const [key] = KEYS
  const [code] = CODES
  const [invitation] = INVITATIONS
  const link = `${server.address}/app/invite#token`
  server.answer('POST /keys', json({ ...key, key: 'sk-tollgate-abc' }))
  server.answer(`DELETE /keys/${key?.id}`, json({ object: 'key', id: key?.id, deleted: true }))
  server.answer('POST /operator/codes', json({ ...code, code: 'TG-1234' }))
  server.answer(`DELETE /operator/codes/${code?.id}`, json(code))
  server.answer('POST /invitations', json({ ...invitation, url: link }))
  server.answer(
    `DELETE /invitations/${invitation?.id}`,
    json({ object: 'invitation', id: invitation?.id, deleted: true }),
  )
  const dialog = page.getByRole('dialog')

  await page.goto(`${server.address}/app/${at('keys?create=true')}`)
  await dialog.getByLabel('Name', { exact: true }).fill('weekly')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('The new key').waitFor()
  await page.getByRole('button', { name: `Actions for ${key?.name}` }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByLabel(`Type ${key?.name} to delete it`).fill(key?.name ?? '')
  await dialog.getByRole('button', { name: 'Delete key' }).click()
  await page.getByLabel('The new key').waitFor({ state: 'detached' })
  expect(await page.getByText('sk-tollgate-abc').count()).toBe(0)
  await page.getByText('Key deleted.').waitFor()

  await page.getByRole('link', { name: 'Members' }).first().click()
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await dialog.getByLabel('Email').fill(invitation?.email ?? '')
  await dialog.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('The new link').waitFor()
  await page.getByRole('button', { name: 'Withdraw the invitation' }).click()
  await dialog.getByRole('button', { name: 'Withdraw' }).click()
  await page.getByLabel('The new link').waitFor({ state: 'detached' })
  await page.getByText('Invitation withdrawn.').waitFor()

  await page.goto(`${server.address}/app/operator/codes`)
  await page.getByRole('button', { name: 'Create code' }).click()
  await dialog.getByLabel('Amount').fill('25')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByLabel('The new code').waitFor()
  await page.getByRole('button', { name: `Revoke the code that ends with ${code?.suffix}` }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByLabel('The new code').waitFor({ state: 'detached' })
  await page.getByText('Code revoked.').waitFor()
})
