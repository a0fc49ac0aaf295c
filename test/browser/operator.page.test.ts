import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import { NO_BALANCE, NO_STATEMENT } from './stand-in-credit.ts'
import { HELIX, ME } from './stand-in-data.ts'
import { UNSETTLED } from './stand-in-operator.ts'
import { OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** The desk of operators: each screen and each of its states. */

const at = (section: string) => `operator/${section}`
const ONE = at(`accounts/${HELIX.id}`)
const FINAL = REQUESTS.find(({ state }) => state === 'final')
const OWING = { ...HELIX.credit, backed: { balance: -4_200_000, held: 0, available: 0 } }

const SCREENS: readonly Screen[] = [
  { name: 'op-accounts', path: at('accounts'), text: 'Night Shift' },
  ...answeredScreens({ path: at('accounts'), pathEnd: '/operator/accounts' }, [
    ['op-accounts-empty', json(EMPTY), 'An account holds credit and API keys.'],
    ['op-accounts-error', down, 'The accounts could not be loaded.'],
    ['op-accounts-loading', silent, 'Create account'],
  ]),
  ...answeredScreens({ path: `${at('accounts')}?search=zzz`, pathEnd: '/operator/accounts' }, [
    ['op-accounts-none', json(EMPTY), 'No account matches “zzz”.'],
  ]),
  ...answeredScreens({ path: `${at('accounts')}?state=in_debt`, pathEnd: '/operator/accounts' }, [
    ['op-accounts-in-debt', json(EMPTY), 'No account is in debt.'],
  ]),
  { name: 'op-accounts-low', path: `${at('accounts')}?state=low_credit`, text: 'Old pilot' },
  {
    name: 'op-accounts-stale',
    path: at('accounts'),
    async act(page, server) {
      await page.getByText('Night Shift').first().waitFor()
      server.answer('/operator/accounts', down)
      // The page reads again when a person comes back to its window.
      await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'op-account-new',
    path: `${at('accounts')}?create=true`,
    act: (page) => page.getByLabel('Name', { exact: true }).fill('Quay'),
    text: 'Email',
  },
  { name: 'op-account', path: ONE, text: '2.5% to 5%, by model' },
  ...answeredScreens({ path: ONE, pathEnd: `/operator/accounts/${HELIX.id}` }, [
    [
      'op-account-suspended',
      json({ ...HELIX, disabled: true, disabled_at: HELIX.created_at, disabled_note: 'Unpaid.' }),
      /This account is suspended since/,
    ],
    ['op-account-error', down, 'The account could not be loaded.'],
    ['op-account-loading', silent, 'Keys'],
  ]),
  {
    name: 'op-account-in-debt',
    path: ONE,
    before(server) {
      server.answer(`/operator/accounts/${HELIX.id}`, json({ ...HELIX, credit: OWING }))
      const credit = { ...OVERVIEW.credit, ...OWING, available: 0, days_left: null }
      server.answer('/overview', json({ ...OVERVIEW, credit }))
    },
    act: (page) => page.getByText('This account owes $4.20.').waitFor(),
    text: /^Paid credit−\u2060\$4\.20$/,
  },
  { name: 'op-account-usage', path: `${ONE}/usage?compare=before`, text: 'Spend by day' },
  { name: 'op-account-activity', path: `${ONE}/activity`, text: /coding agents/ },
  {
    name: 'op-account-request',
    path: `${ONE}/activity?request=${FINAL?.id}`,
    act: (page) => page.getByText('Generation ID').waitFor(),
    text: 'Provider cost',
  },
  { name: 'op-account-keys', path: `${ONE}/keys`, text: 'nightly evals' },
  { name: 'op-account-credit', path: `${ONE}/credit`, text: 'invoice-1042' },
  {
    name: 'op-account-credit-day',
    path: `${ONE}/credit`,
    act: press('Models of Fri 20 Nov'),
    text: 'Corrections and write-offs',
  },
  { name: 'op-account-credit-top-ups', path: `${ONE}/credit?list=top-ups`, text: /^Purchase$/ },
  { name: 'op-account-credit-every-entry', path: `${ONE}/credit?list=entries`, text: 'welcome' },
  {
    name: 'op-account-credit-new',
    path: `${ONE}/credit`,
    before(server) {
      server.answer('/statement', json(NO_STATEMENT))
      server.answer('/balance', json(NO_BALANCE))
    },
    text: 'Add credit, and it appears here with its reference.',
  },
  { name: 'op-account-members', path: `${ONE}/members`, text: 'jonas@helix.example' },
  { name: 'op-account-settings', path: `${ONE}/settings`, text: 'Low-credit alert' },
  {
    name: 'op-grant',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByLabel('Amount').fill('25')
      await page.getByLabel('Reference').fill('invoice-1043')
    },
    text: 'Balance: $187.06 now, $212.06 after this. Available: $184.27 now, $209.27 after this.',
  },
  {
    name: 'op-grant-free',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByRole('button', { name: 'Free' }).click()
      await page.getByLabel('Amount').fill('2.50')
    },
    text: /Free credit: \$5.00 now, \$7.50 after this\. All of it expires on 21\sDec 2026/,
  },
  {
    name: 'op-chargeback',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Remove credit' }).click()
      await page.getByLabel('Amount').fill('200')
    },
    text: /Balance: \$187.06 now, −\u2060\$12.94 after this; \$2.79 is held. No paid credit is available then. Requests that need paid credit are refused/,
  },
  { name: 'op-account-menu', path: ONE, act: press('More actions'), text: 'Give free credit' },
  {
    name: 'op-suspend',
    path: ONE,
    async act(page) {
      await page.getByText('coding agents').first().waitFor()
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Suspend account' }).click()
    },
    text: /Its 6 keys are refused at once. 3 running requests finish and are charged: \$2.41 is held for them/,
  },
  {
    name: 'op-password',
    path: ONE,
    before: (server) => server.answer('/credit', { ...PASSWORD_FIRST, httpStatus: 403 }),
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByLabel('Amount').fill('25')
      await page.getByLabel('Reference').fill('invoice-1043')
      await page.getByRole('button', { name: 'Add $25.00' }).click()
    },
    text: 'This change needs your password, because you last entered it more than ten minutes ago.',
  },
]

const PASSWORD_FIRST = json({
  error: { message: 'Enter your password again first.', code: 'sign_in_again', param: null },
})

testScreens(SCREENS)

test('granting credit long after the sign-in asks for the password and then sends the grant again', async ({
  page,
  server,
}) => {
  server.answer('/credit', { ...PASSWORD_FIRST, httpStatus: 403 })
  server.answer('/auth/confirm', json({ object: 'confirmed' }))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByLabel('Amount').fill('25')
  await page.getByLabel('Reference').fill('invoice-1043')
  await page.getByRole('button', { name: 'Add $25.00' }).click()
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse battery')
  server.answer('/credit', json({ object: 'entry' }))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('dialog', { name: 'Add credit' }).waitFor({ state: 'detached' })
  const sent = server.asked.filter((call) => call.startsWith('POST'))
  const grant = `POST operator/accounts/${HELIX.id}/credit`
  expect(sent).toEqual([grant, 'POST auth/confirm', grant])
})

test('links of a tab lead to the tabs of the same account', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${ONE}/keys`)
  await page.getByRole('button', { name: 'Actions for nightly evals' }).click()
  await page.getByRole('link', { name: 'View requests' }).click()
  await page.waitForURL(`${server.address}/app/${ONE}/activity?**`)
  await page.getByRole('heading', { level: 1, name: HELIX.name }).waitFor()
  await page.locator('a.open-it').first().click()
  await page.waitForURL(/operator\/accounts\/.*activity\?.*request=req_/)
  await page.getByRole('complementary').getByText('Provider cost').waitFor()
})

test('Credit of a tab is read as operators do, and its links lead to the tabs of the same account', async ({
  page,
  server,
}) => {
  const requests = page.getByRole('heading', { level: 2, name: 'Activity' })
  await page.goto(`${server.address}/app/${ONE}/credit`)
  await page.getByRole('button', { name: 'Models of Fri 20 Nov' }).click()
  await page.locator('tr.sub a').first().click()
  await page.waitForURL(/operator\/accounts\/.*\/activity\?from=2026-11-20&to=2026-11-20&model=/)
  await requests.waitFor()
  await page.goto(`${server.address}/app/${ONE}/credit`)
  await page.getByRole('button', { name: 'Every entry' }).click()
  await page.waitForURL(`${server.address}/app/${ONE}/credit?list=entries`)
  const csv = page.getByRole('link', { name: 'CSV' })
  // The address changes before the page does.
  await expect.poll(() => csv.getAttribute('href')).toMatch(`/app/api/${ONE}/entries.csv?from=`)
  await page.locator('main td a').filter({ visible: true }).first().click()
  await page.waitForURL(/operator\/accounts\/.*\/activity\?range=all&request=req_/)
  await requests.waitFor()
  const paths = server.asked.map((call) => call.replace(/\?.*/, ''))
  for (const read of ['balance', 'statement', 'entries']) {
    expect(paths).toContain(`GET ${ONE}/${read}`)
    expect(paths).not.toContain(`GET accounts/${HELIX.id}/${read}`)
  }
})

test('Credit of a tab opens receipts, and has no buttons of customers', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${ONE}/credit?list=top-ups`)
  await page.getByRole('link', { name: 'Receipt' }).filter({ visible: true }).first().click()
  const invoice = page.getByRole('dialog', { name: 'Invoice' })
  await invoice.getByText('DE 318 204 517').waitFor()
  await invoice.locator(`a[href="/app/${ONE}/settings"]`).waitFor()
  expect(await invoice.getByText('ask the operator').count()).toBe(0)
  await expect.poll(() => page.url()).toContain(`/app/${ONE}/credit?list=top-ups&receipt=pur_`)
  await page.getByRole('button', { name: 'Close', exact: true }).last().click()
  await page.waitForURL(`${server.address}/app/${ONE}/credit?list=top-ups`)
  expect(await page.getByRole('button', { name: 'Redeem a code' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Changes by operators' }).click()
  await page.waitForURL(`${server.address}/app/${at('audit-log')}?account=${HELIX.id}`)
})

test('credit that an operator adds is among the entries at once', async ({ page, server }) => {
  server.answer('/credit', json({ object: 'entry' }))
  await page.goto(`${server.address}/app/${ONE}/credit?list=entries`)
  await page.getByText('welcome').filter({ visible: true }).waitFor()
  server.answer('/entries', json(EMPTY))
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByLabel('Amount').fill('25')
  await page.getByLabel('Reference').fill('invoice-1043')
  await page.getByRole('button', { name: 'Add $25.00' }).click()
  await page.getByText('No entries in this period.').waitFor()
  await page.getByText('$25.00 of paid credit added.').waitFor()
})

test('an account that is suspended or resumed says so', async ({ page, server }) => {
  const path = `/operator/accounts/${HELIX.id}`
  const suspended = {
    ...{ ...HELIX, state: 'suspended', disabled: true },
    ...{ disabled_at: '2026-11-20T12:00:00.000Z', disabled_note: null },
  }
  server.answer(`PATCH ${path}`, json(suspended))
  await page.goto(`${server.address}/app${path}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('button', { name: 'Suspend account' }).click()
  server.answer(`GET ${path}`, json(suspended))
  await page.getByRole('button', { name: 'Suspend', exact: true }).click()
  await page.getByText('Account suspended.').waitFor()
  await page.getByRole('button', { name: 'Resume account' }).click()
  await page.getByLabel('Reason (optional)').fill('Invoice 7 is paid.')
  const resumed = page.waitForRequest((request) => request.method() === 'PATCH')
  await page.getByRole('dialog').getByRole('button', { name: 'Resume account' }).click()
  expect((await resumed).postDataJSON()).toEqual({ disabled: false, note: 'Invoice 7 is paid.' })
  await page.getByText('Account resumed.').waitFor()
})

test('an account as its members read it has no operator fields in Activity', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity?request=${FINAL?.id}`)
  await page.getByText('Held when it opened').waitFor()
  expect(await page.getByText(/Upstream|Provider cost|Margin|Generation ID/).count()).toBe(0)
  expect(server.asked.filter((call) => call.includes('operator/requests'))).toEqual([])
})

test.for([
  [0, 'No request is running.'],
  [1, '1 running request finishes and is charged: $0.38 is held for it.'],
] as const)(
  'the suspend dialog says what happens to running requests, on a tab that shows none: %i of them',
  async ([requests, text], { page, server }) => {
    const held_running = { requests, amount: requests * 380_000 }
    server.answer('/overview', json({ ...OVERVIEW, credit: { ...OVERVIEW.credit, held_running } }))
    await page.goto(`${server.address}/app/${ONE}/members`)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('button', { name: 'Suspend account' }).click()
    await page
      .getByRole('dialog', { name: `Suspend ${HELIX.name}?` })
      .getByText(text)
      .waitFor()
  },
)

test('a suspension is offered before the running requests were counted', async ({
  page,
  server,
}) => {
  server.answer('/overview', { kind: 'silence' })
  await page.goto(`${server.address}/app/${ONE}/members`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('button', { name: 'Suspend account' }).click()
  await page.getByText('Running requests finish and are charged.').waitFor()
  await page.getByRole('button', { name: 'Suspend', exact: true }).click({ trial: true })
})

test('the arrow keys pass the item of an account’s menu that only a phone shows', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'More actions' }).press('Enter')
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  await expect.poll(focused).toBe('Give free credit')
  await page.keyboard.press('ArrowUp')
  expect(await focused()).toBe('Suspend account')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe('Give free credit')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe('Invite a member')
})

test('“Invite a member” of an account opens the form', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('link', { name: 'Invite a member' }).click()
  await page.getByRole('dialog', { name: 'Invite a person' }).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForURL((url) => url.search === '')
})

test('a section of the settings sends only its own fields', async ({ page, server }) => {
  const save = async (name: string) => {
    const changed = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByRole('button', { name }).click()
    return (await changed).postDataJSON()
  }
  await page.goto(`${server.address}/app/${ONE}/settings`)
  await page.getByLabel('External ID').fill('')
  expect(await save('Save account')).toEqual({ external_id: null })
  await page.getByLabel('Low-credit alert').fill('50')
  expect(await save('Save fee and alert')).toEqual({ low_balance: 50_000_000 })
  await page.getByLabel('Requests in flight').fill('20')
  expect(await save('Save models, allowance and limits')).toEqual({ limits: { in_flight: 20 } })
  await page.getByLabel('Address').fill('')
  expect(await save('Save billing details')).toEqual({
    billing: { ...HELIX.billing, address: null },
  })
  await page.getByLabel('Notes').fill('plan: team\nregion: us')
  expect(await save('Save metadata')).toEqual({ metadata: { plan: 'team', region: 'us' } })
})

test("an operator who is in no account is led to the operator's pages", async ({
  page,
  server,
}) => {
  server.answer('/me', json({ ...ME, accounts: [] }))
  await page.goto(`${server.address}/app/`)
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.getByText('Northwind Support').first().waitFor()
})

test('the switcher leads only operators to the operator pages', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByRole('button', { name: 'Helix Lab' }).click()
  const toOperator = page.getByRole('link', { name: 'Operator: all accounts' })
  const colorOf = (place: Locator) => place.evaluate((element) => getComputedStyle(element).color)
  // The colours of a filled button: the grey of other icons could not be seen on it.
  expect(await colorOf(toOperator.locator('.av svg'))).toBe(
    await colorOf(toOperator.locator('.av')),
  )
  await toOperator.click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: false } }))
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByRole('link', { name: 'Keys' }).first().waitFor()
  await page.getByRole('button', { name: 'Helix Lab' }).click()
  await page.getByRole('link', { name: 'Night Shift' }).waitFor()
  expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0)
})

test('the sidebar counts unsettled requests, and shows no count of zero', async ({
  page,
  server,
}) => {
  const link = page.getByRole('link', { name: 'Unsettled' })
  await page.goto(`${server.address}/app/operator/accounts`)
  await link.locator('.count').waitFor()
  expect(await link.textContent()).toBe(`Unsettled ${UNSETTLED.length}`)
  const asked = () => server.asked.filter((call) => call.includes('operator/unsettled')).length
  const before = asked()
  server.answer('/operator/unsettled', json(EMPTY))
  await page.goto(`${server.address}/app/operator/accounts`)
  await expect.poll(asked).toBeGreaterThan(before)
  await page.getByText('Night Shift').first().waitFor()
  expect(await link.locator('.count').count()).toBe(0)
})
