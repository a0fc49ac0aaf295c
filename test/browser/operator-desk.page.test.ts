import { expect } from 'vitest'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, type StandIn, silent } from './stand-in.ts'
import { HELIX, listOf } from './stand-in-data.ts'
import { ACTIONS, OPERATOR_INVITATIONS } from './stand-in-desk.ts'
import { ACCOUNTS, AUDIT, CODES, HEALTH, TOKENS, UNSETTLED } from './stand-in-operator.ts'

/** The operator's pages in addition to accounts: unsettled requests, the ledger's health, and codes. */

const at = (section: string) => `operator/${section}`

const TO_SETTLE: readonly Screen[] = [
  {
    name: 'op-unsettled',
    path: at('unsettled'),
    text: /: the provider returned no ID\s*The hold is released without a charge on/,
  },
  ...answeredScreens({ path: at('unsettled'), pathEnd: '/operator/unsettled' }, [
    ['op-unsettled-empty', json(EMPTY), 'No unsettled requests'],
    ['op-unsettled-loading', silent, 'Unsettled'],
  ]),
  {
    name: 'op-unsettled-error',
    path: at('unsettled'),
    before(server) {
      server.answer('/operator/unsettled', down)
      server.answer('/operator/health', down)
    },
    text: 'The requests could not be loaded.',
  },
  {
    name: 'op-settle',
    path: at('unsettled'),
    async act(page) {
      await page
        .getByRole('button', { name: /^Settle/ })
        .first()
        .click()
      await page.getByLabel('Provider cost').fill('0.2')
    },
    text: /is charged \$0.210000, the cost plus 5%. Its hold of \$0.380000 ends: \$0.170000 more is available./,
  },
]

const HEALTH_SCREENS: readonly Screen[] = [
  { name: 'op-health', path: at('health'), text: 'openai/gpt-6-mini' },
  {
    name: 'op-health-fault',
    path: at('health'),
    before(server) {
      const message = 'Prices are 75 minutes old: check the log.'
      const checks = HEALTH.checks.map((check) =>
        check.name === 'prices' ? { ...check, ok: false, message } : check,
      )
      server.answer('/operator/health', json({ ...HEALTH, ready: false, checks }))
    },
    text: 'Prices are 75 minutes old: check the log.',
  },
  ...answeredScreens({ path: at('health'), pathEnd: '/operator/health' }, [
    ['op-health-error', down, 'Health could not be loaded.'],
    ['op-health-loading', silent, 'Readiness'],
  ]),
  {
    name: 'op-audit',
    path: at('health'),
    act: press('Run the audit'),
    text: /Every figure is exact. 5 accounts, 31 keys, 48,213 requests/,
  },
  {
    name: 'op-audit-running',
    path: at('health'),
    before: (server) => server.answer('/operator/audit', { kind: 'silence' }),
    act: press('Run the audit'),
    text: 'Reading the store: 31,204 rows so far',
  },
  {
    name: 'op-audit-difference',
    path: at('health'),
    before: findDifference,
    act: press('Run the audit'),
    text: /accounts\.backed_balance.*\$187\.060001.*−\u2060?\$0\.000005/,
  },
  {
    name: 'op-maintenance',
    path: at('health'),
    async act(page) {
      await page.getByText('openai/gpt-6-mini').waitFor()
      await page.getByRole('button', { name: 'Turn on' }).click()
    },
    text: /3 running requests, with \$2.41 held, finish normally./,
  },
]

function findDifference(server: StandIn): void {
  const wrong = {
    ...{ what: 'accounts.backed_balance_micros', id: HELIX.id },
    ...{ stored: 187_060_001, recomputed: -5 },
  }
  server.answer('/operator/audit', json({ ...AUDIT, ok: false, differences: [wrong] }))
}

const CODE_SCREENS: readonly Screen[] = [
  { name: 'op-codes', path: at('codes'), text: 'Redeemed' },
  ...answeredScreens({ path: at('codes'), pathEnd: '/operator/codes' }, [
    ['op-codes-empty', json(EMPTY), 'No codes yet'],
    ['op-codes-error', down, 'The codes could not be loaded.'],
  ]),
  {
    name: 'op-code-new',
    path: at('codes'),
    async act(page) {
      await page.getByRole('button', { name: 'Create code' }).click()
      await page.getByLabel('Amount').fill('25')
    },
    text: 'The code can be redeemed until it is revoked.',
  },
  {
    name: 'op-code-made',
    path: at('codes'),
    // The list of codes, and the code that was made, in one.
    before(server) {
      const code = 'ABCDEF-GHJKMN-PQRSTV-WXYZ12'
      server.answer('/operator/codes', json({ ...EMPTY, data: CODES, ...CODES[0], code }))
    },
    async act(page) {
      await page.getByRole('button', { name: 'Create code' }).click()
      await page.getByLabel('Amount').fill('25')
      await page.getByText('The code can be redeemed until it is revoked.').waitFor()
      await page.getByRole('button', { name: 'Create a code of $25.00' }).click()
    },
    text: 'Copy it now: it is shown only once.',
  },
  {
    name: 'op-code-revoke',
    path: at('codes'),
    act: (page) =>
      page
        .getByRole('button', { name: /^Revoke/ })
        .first()
        .click(),
    text: /The \$25.00 can no longer be redeemed/,
  },
]

const TOKEN_SCREENS: readonly Screen[] = [
  { name: 'op-operators', path: at('operators'), text: 'kaya@helix.example' },
  {
    name: 'op-operator-invite',
    path: at('operators'),
    act: press('Invite an operator'),
    text: 'An operator can do everything',
  },
  { name: 'op-tokens', path: at('tokens'), text: 'created by another token' },
  ...answeredScreens({ path: at('tokens'), pathEnd: '/operator/tokens' }, [
    ['op-tokens-empty', json(EMPTY), 'No tokens yet'],
    ['op-tokens-error', down, 'The admin tokens could not be loaded.'],
    ['op-tokens-loading', silent, 'Admin tokens'],
  ]),
  {
    name: 'op-token-revoke',
    path: at('tokens'),
    act: press('Revoke the token shop'),
    text: /From now on, calls with this token are answered with 401/,
  },
]

const AUDIT_LOG: readonly Screen[] = [
  { name: 'op-audit-log', path: at('audit-log'), text: 'Fee: 10% → 12%' },
  ...answeredScreens(
    {
      path: `${at('audit-log')}?account=${HELIX.id}&kind=addCredit&by=user_1`,
      pathEnd: '/operator/actions',
    },
    [['op-audit-log-filtered', json(EMPTY), 'No changes match these filters.']],
  ),
  ...answeredScreens({ path: at('audit-log'), pathEnd: '/operator/actions' }, [
    ['op-audit-log-empty', json(EMPTY), 'No changes recorded yet.'],
    ['op-audit-log-error', down, 'The audit log could not be loaded.'],
  ]),
]

const UPSTREAM_SCREENS: readonly Screen[] = [
  { name: 'op-upstreams', path: at('upstreams'), text: 'Key refused' },
  ...answeredScreens({ path: at('upstreams'), pathEnd: '/operator/upstreams' }, [
    ['op-upstreams-empty', json(EMPTY), 'The built-in simulator answers.'],
    ['op-upstreams-error', down, 'The upstreams could not be loaded.'],
  ]),
  { name: 'op-upstream', path: at('upstreams/openrouter'), text: 'provider_rate_limited' },
  { name: 'op-upstream-gone', path: at('upstreams/gone'), text: 'No upstream has this name.' },
]

testScreens([
  ...TO_SETTLE,
  ...UPSTREAM_SCREENS,
  ...AUDIT_LOG,
  ...HEALTH_SCREENS,
  ...CODE_SCREENS,
  ...TOKEN_SCREENS,
])

test('an upstream names its listed models that are not offered, with the reason, and leads to all of them', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('upstreams/openrouter')}`)
  const card = page.getByRole('region', { name: 'Not offered' })
  await card.waitFor()
  expect(await card.locator('tbody td').allTextContents()).toEqual([
    'without an ID',
    'the row has no ID',
  ])
  await card.getByRole('link', { name: '1 model' }).click()
  await page.getByText('From the last list of each upstream.').waitFor()
  expect(new URL(page.url()).searchParams.get('find')).toBe('openrouter')
})

test('the chosen admin token is revoked after a dialog that explains the effect', async ({
  page,
  server,
}) => {
  server.answer(`DELETE /operator/tokens/${TOKENS[1]?.id}`, json(TOKENS[1]))
  await page.goto(`${server.address}/app/${at('tokens')}`)
  await page.getByRole('button', { name: 'Revoke the token bookkeeping' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(server.asked.filter((call) => call.startsWith('DELETE'))).toEqual([
    `DELETE operator/tokens/${TOKENS[1]?.id}`,
  ])
})

test('the audit log is filtered by its address and by time, and downloaded with the same filters', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('audit-log')}?kind=addCredit&kind=changeKey`)
  await page.getByText('Credit added', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Night Shift' }).click()
  await page.waitForURL(/account=acct_/)
  const filters = `account=${ACCOUNTS[1]?.id}&action=${encodeURIComponent('addCredit,changeKey')}`
  const asked = () => server.asked.filter((call) => call.includes('operator/actions'))
  await expect.poll(() => asked().at(-1)).toBe(`GET operator/actions?${filters}&limit=50`)
  const csv = page.getByRole('link', { name: 'CSV' })
  expect(await csv.getAttribute('href')).toBe(`/app/api/operator/actions?${filters}&format=csv`)
  await page.getByRole('button', { name: 'Date range' }).click()
  await page.getByRole('button', { name: 'Yesterday' }).click()
  await page.waitForURL(/account=acct_.*&from=2026-11-20&to=2026-11-20/)
  const times = 'since=2026-11-20T00%3A00%3A00.000Z&until=2026-11-21T00%3A00%3A00.000Z'
  await expect.poll(() => asked().at(-1)).toContain(`${filters}&${times}`)
  expect(await csv.getAttribute('href')).toContain(`${filters}&${times}&format=csv`)
})

test('an account without a name has its whole ID in the title of a change', async ({
  page,
  server,
}) => {
  server.answer('/operator/actions', json(listOf([{ ...ACTIONS[0], account_name: null }])))
  await page.goto(`${server.address}/app/${at('audit-log')}`)
  await page.getByTitle(HELIX.id).getByRole('link').waitFor()
})

test('the filter Kind of the audit log finds kinds by the fields that they change', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('audit-log')}`)
  await page.getByRole('button', { name: 'Kind' }).click()
  const boxes = page.getByRole('checkbox')
  for (const [typed, kinds] of [
    ['fee', ['Account changed', 'Account created']],
    ['credit limit', ['Key changed', 'Key created']],
    ['credit alert', ['Account changed']],
  ] as const) {
    await page.getByLabel('Find: Kind').fill(typed)
    await expect.poll(() => boxes.count()).toBe(kinds.length)
    for (const kind of kinds) await page.getByLabel(kind).waitFor()
  }
})

test('who changed a fee is found in four steps from Home', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByRole('button', { name: 'Field' }).click()
  await page.getByLabel('Find: Field').fill('fee')
  await page.getByRole('checkbox').first().check()
  await page.waitForURL(/audit-log\?field=fee_basis_points$/)
  const asked = () => server.asked.filter((call) => call.includes('operator/actions'))
  await expect
    .poll(() => asked().at(-1))
    .toBe('GET operator/actions?field=fee_basis_points&limit=50')
  await page.getByText('Fee: 10% → 12%').waitFor()
})

test('on a phone, each figure of an audit difference is on one line with its name', async ({
  pages,
  server,
}) => {
  findDifference(server)
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/${at('health')}`)
  await page.getByRole('button', { name: 'Run the audit' }).click()
  const figures = page.locator('td.num')
  await figures.first().waitFor()
  const lines = await figures.evaluateAll((cells) =>
    cells.map((cell) => cell.clientHeight / Number.parseFloat(getComputedStyle(cell).lineHeight)),
  )
  expect(lines).toEqual([1, 1])
})

test('a request is settled with the typed cost, with the keyboard alone', async ({
  page,
  server,
}) => {
  server.answer('/settle', json({ object: 'request' }))
  await page.goto(`${server.address}/app/${at('unsettled')}`)
  await page
    .getByRole('button', { name: /^Settle/ })
    .first()
    .focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('0.017648')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(server.asked.filter((call) => call.startsWith('POST'))).toEqual([
    'POST operator/requests/req_01kbh2x9q4e7m0v6rt3z8yc009/settle',
  ])
})

test('the link of an invitation stays below that of the next one', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator/operators`)
  const links = [1, 2].map((number) => `${server.address}/app/invite#token${number}`)
  for (const [place, url] of links.entries()) {
    const email = `operator${place}@tidewater.example`
    server.answer('POST /invitations', json({ ...OPERATOR_INVITATIONS[0], email, url }))
    await page.getByRole('button', { name: 'Invite an operator' }).click()
    await page.getByRole('dialog').getByLabel('Email').fill(email)
    await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('region', { name: `An invitation for ${email} is ready` }).waitFor()
  }
  const shown = page.getByLabel('The new link')
  expect(
    await shown.evaluateAll((fields) => fields.map((field) => field.getAttribute('value'))),
  ).toEqual(links.toReversed())
})

test('a request whose upstream can’t be asked is not said to lack an ID', async ({
  page,
  server,
}) => {
  const data = UNSETTLED.slice(0, 1).map((one) => ({ ...one, next_lookup_by: null }))
  server.answer('/operator/unsettled', json(listOf(data)))
  await page.goto(`${server.address}/app/${at('unsettled')}`)
  await page.getByText('Cost can’t be looked up at its upstream now').waitFor()
  expect(await page.getByText('returned no ID').count()).toBe(0)
})
