import { expect } from 'vitest'
import { MICROS_PER_DOLLAR } from '../../src/vocabulary/money.ts'
import { expectFits } from './chromium.ts'
import { answeredScreens, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, json } from './stand-in.ts'
import { HELIX, KEYS, listOf } from './stand-in-data.ts'
import { MODEL_LIST, OFFERED_MODELS } from './stand-in-models.ts'
import { ACCOUNTS } from './stand-in-operator.ts'
import { OPERATOR_REPORT, operatorReport, operatorUsage, USAGE } from './stand-in-usage.ts'

/** Usage and margin of all accounts, and models with the provider's prices. */

const NONE = { ...OPERATOR_REPORT.totals, requests: 0, charge: 0, cost: 0, margin: 0 }

const SCREENS: readonly Screen[] = [
  { name: 'op-usage', path: 'operator/usage?compare=before', text: 'All 3 accounts' },
  { name: 'op-usage-by-day', path: 'operator/usage?by=day&range=7d', text: 'Provider cost' },
  ...answeredScreens({ path: 'operator/usage', pathEnd: '/operator/usage/report' }, [
    [
      'op-usage-empty',
      json({ ...OPERATOR_REPORT, totals: NONE, data: [] }),
      'No requests in this period.',
    ],
    ['op-usage-error', down, 'The usage report could not be loaded.'],
  ]),
  { name: 'op-models', path: 'operator/models', text: '$42.00 per M image tokens' },
  { name: 'op-models-none', path: 'operator/models?find=nothing', text: 'No model matches.' },
  {
    name: 'op-model',
    path: 'operator/models?model=anthropic/claude-sonnet-5',
    text: 'Output, above 200,000',
  },
  {
    name: 'op-models-not-offered',
    path: 'operator/models?list=not_offered',
    text: 'the row has no ID',
  },
  ...answeredScreens({ path: 'operator/models', pathEnd: '/operator/models' }, [
    ['op-models-error', down, 'The models could not be loaded.'],
  ]),
]

testScreens(SCREENS)

test('the parts of the charges add up to their sum if free credit paid some', async ({
  page,
  server,
}) => {
  const usage = operatorUsage('model')
  const paid = { charge: 10_000_000, backed_charge: 10_000_000, free_charge: 0, margin: 2_000_000 }
  const free = { charge: 10_000_000, backed_charge: 0, free_charge: 10_000_000, margin: -8_000_000 }
  const all = usage.all.map((step, at) => ({ ...step, cost: 8_000_000, ...(at < 2 ? free : paid) }))
  const sumOf = (name: 'charge' | 'backed_charge' | 'free_charge' | 'cost' | 'margin') =>
    all.reduce((sum, step) => sum + step[name], 0)
  const figures = {
    ...usage.figures,
    ...{ charge: sumOf('charge'), cost: sumOf('cost'), margin: sumOf('margin') },
    ...{ backed_charge: sumOf('backed_charge'), free_charge: sumOf('free_charge') },
  }
  server.answer('/operator/usage', json({ ...usage, all, figures }))
  await page.goto(`${server.address}/app/operator`)
  const [cost, margin] = [figures.cost / 1e6, figures.margin / 1e6]
  await page.getByText(`Provider cost$${cost}.00Margin$${margin}.00Free credit$20.00`).waitFor()
})

test('a margin that is not known is said so in tables and figures, and is no number and no share', async ({
  page,
  server,
}) => {
  const withoutCost = (value: unknown) =>
    JSON.parse(JSON.stringify(value), (name, member) => {
      if (name === 'margin') return null
      return name === 'cost' ? 0 : name === 'uncosted' ? 3 : member
    })
  server.answer('/operator/usage', json(withoutCost(operatorUsage('account'))))
  const accounts = ACCOUNTS.map((account) => ({ ...account, margin: null }))
  server.answer('/operator/accounts', json(listOf(accounts)))
  for (const [path, text] of [
    ['operator', 'the cost of 3 requests is not known'],
    ['operator/usage?compare=before', 'the cost of 3 requests is not known'],
    ['operator/accounts', 'not known'],
    [`operator/accounts/${HELIX.id}`, 'the cost of 3 requests is not known'],
    ['operator/models?model=sim/text', 'sim/text'],
  ] as const) {
    const by = path.includes('accounts/') ? 'day' : 'account'
    const report = operatorReport(new URLSearchParams({ by }))
    server.answer('/operator/usage/report', json(withoutCost(report)))
    await page.goto(`${server.address}/app/${path}`)
    await page.getByText(text).first().waitFor()
    await page.waitForFunction(() => document.querySelector('main .grey') === null)
    const shown = await page.locator('main').textContent()
    expect([path, shown?.match(/NaN|null|undefined|Infinity|100\.0%/)]).toEqual([path, null])
    // No part of a column is called margin then.
    expect(await page.locator('path[data-group=margin]').count()).toBe(0)
  }
})

test('a report by tag ends with all requests, each counted once, and says that rows can add up to more', async ({
  page,
  server,
}) => {
  const [one] = OPERATOR_REPORT.data
  const data = ['nightly', 'team-two', null].map((id) => ({ ...one, id, name: id }))
  server.answer('/operator/usage/report', json({ ...OPERATOR_REPORT, by: 'tag', data }))
  await page.goto(`${server.address}/app/operator/usage?by=tag`)
  const table = page.getByRole('table', { name: 'Margin by tag' })
  await table.getByText('Without tags, or pruned').waitFor()
  expect(await table.locator('tfoot td').first().textContent()).toBe('All requests, each once')
  await page.getByText('A request counts in each of its tags').waitFor()
  expect(await page.getByText('Amounts are rounded to cents.').count()).toBe(0)
})

test('a key has the name of its account before its own, in the table and in the legend', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/usage?by=key`)
  const name = `Northwind Support / ${KEYS[0]?.name}`
  await page.getByRole('table', { name: 'Margin by key' }).getByText(name).waitFor()
  await page.locator('ul.key').getByText(name).waitFor()
})

test('a report is sorted by the figures of its columns, with the greatest loss first or last, and its address keeps that', async ({
  page,
  server,
}) => {
  const usage = `${server.address}/app/operator/usage`
  await page.goto(usage)
  const table = page.getByRole('table', { name: 'Margin by account' })
  const first = () => table.locator('tbody tr').first().textContent()
  const sortBy = (name: string) => table.getByRole('button', { name, exact: true }).click()
  await expect.poll(first).toContain('Northwind Support')
  await sortBy('Margin')
  await page.waitForURL(`${usage}?sort=-margin`)
  await sortBy('Margin')
  await expect.poll(first).toContain('Ada Lovelace')
  const loss = table.locator('tbody tr').first().locator('td b.text-bad')
  expect(await loss.textContent()).toMatch(/^−/)
  await page.reload()
  await expect.poll(first).toContain('Ada Lovelace')
  await sortBy('Margin')
  await page.waitForURL(usage)
  await expect.poll(first).toContain('Northwind Support')
  await sortBy('Spend')
  await expect.poll(first).toContain('Ada Lovelace')
})

test('the CSV of a report is named by its accounts, its first and last day, and its grouping', async ({
  page,
  server,
}) => {
  // An account's file is named by the range of the answer, which is always the same here.
  for (const [path, name] of [
    ['operator', 'all-accounts-2026-10-01-to-2026-10-31'],
    [`operator/accounts/${HELIX.id}`, 'helix-lab-2026-10-23-to-2026-11-21'],
    [HELIX.id, 'helix-lab-2026-10-23-to-2026-11-21'],
  ]) {
    await page.goto(`${server.address}/app/${path}/usage?from=2026-10-01&to=2026-10-31&by=model`)
    const csv = page.getByRole('link', { name: 'CSV' })
    await csv.waitFor()
    expect(await csv.getAttribute('download')).toBe(`usage-${name}-by-model.csv`)
  }
})

test('operators see the cost and margin of an account in its Usage tab and CSV, and customers do not', async ({
  page,
  server,
}) => {
  const [first] = USAGE.groups
  const [row] = OPERATOR_REPORT.data
  if (first === undefined || row === undefined) throw new Error('there is no group')
  const data = [{ ...row, id: first.id, figures: { ...row.figures, cost: 4_200_000 } }]
  server.answer('/operator/usage/report', json({ ...OPERATOR_REPORT, by: 'model', data }))
  const heads = () => page.getByRole('table').locator('thead').textContent()
  for (const path of [`operator/accounts/${HELIX.id}`, HELIX.id]) {
    await page.goto(`${server.address}/app/${path}/usage`)
    const isTab = path !== HELIX.id
    await page.getByRole('table').waitFor()
    expect(/Provider costMargin/.test((await heads()) ?? '')).toBe(isTab)
    const href = await page.getByRole('link', { name: 'CSV' }).getAttribute('href')
    expect(href?.includes('/app/api/operator/usage/report?')).toBe(isTab)
    if (isTab) await page.getByRole('cell', { name: '$4.20' }).waitFor()
  }
})

test('the list of prices says to operators where fees are set, and nothing of fees to customers', async ({
  page,
  server,
}) => {
  const fees = page.getByText('TOLLGATE_FEE_BPS')
  await page.goto(`${server.address}/app/operator/models`)
  await fees.waitFor()
  await page.goto(`${server.address}/app/${HELIX.id}/models`)
  await page.getByRole('table').waitFor()
  expect(await page.getByText(/\bfees?\b/i).count()).toBe(0)
})

test('on a phone, a model that is not offered has the name of its upstream', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/models?list=not_offered`)
  const row = page.getByRole('row').filter({ hasText: 'the row has no ID' })
  await row.getByText('openrouter:').waitFor()
})

test('a model whose upstream lists no name has its ID once', async ({ page, server }) => {
  const id = 'local/coder'
  const [model] = OFFERED_MODELS.data
  const unnamed = { ...model, id, name: id, doubted: true }
  server.answer('/operator/models', json({ ...OFFERED_MODELS, data: [unnamed] }))
  server.answer(
    `/accounts/${HELIX.id}/models`,
    json({ ...MODEL_LIST, data: [{ ...unnamed, open_weights: true }] }),
  )
  for (const [path, note] of [
    ['operator/models', 'doubted price'],
    [`${HELIX.id}/models`, 'free credit pays'],
  ] as const) {
    await page.goto(`${server.address}/app/${path}`)
    const cell = page.locator('td.model')
    await cell.getByText(note).waitFor()
    expect([
      await cell.locator('a').textContent(),
      await cell.locator('.two').first().textContent(),
    ]).toEqual([id, note])
  }
})

test('an operator opens a model and reads the prices of the provider beside those that are charged, its state and its use', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/models`)
  await page.getByRole('link', { name: 'anthropic/claude-sonnet-5' }).click()
  const drawer = page.getByRole('complementary', { name: 'Model' })
  const price = (name: string) => drawer.getByRole('row', { name, exact: false }).first()
  await expect.poll(() => price('Input').textContent()).toBe('Input$3.00$3.15')
  expect(await price('Output, above 200,000').textContent()).toBe(
    'Output, above 200,000$22.50$23.625',
  )
  const parts = await drawer.textContent()
  for (const text of [
    ...['1,000,000 tokens', 'messages', 'Upstreamopenrouter', 'Offeredyes'],
    'First seen at these prices3\u00a0Oct',
  ]) {
    expect(parts).toContain(text)
  }
  await drawer.getByText('Provider cost').waitFor()
  await page.goto(`${server.address}/app/operator/models?model=meta/llama-5-70b`)
  await drawer.getByText('no, requests are refused').waitFor()
})

test('an operator tries a model with the credit of an account of their choice, which the Playground names', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/models?model=anthropic/claude-sonnet-5`)
  await page.getByRole('button', { name: 'Try with an account’s credit' }).click()
  await page.getByRole('button', { name: 'Fjord Analytics' }).click()
  const atPlayground = (id = '') =>
    page.waitForURL(new RegExp(`/app/${id}/playground\\?model=anthropic.*claude-sonnet-5$`))
  await atPlayground(ACCOUNTS[0]?.id)
  await page.getByText('Requests are charged to the credit of Fjord Analytics').waitFor()
  await page.getByRole('button', { name: 'Charge another account' }).click()
  await page.getByRole('button', { name: 'Night Shift' }).click()
  await atPlayground(ACCOUNTS[1]?.id)
  await page.getByText('Requests are charged to the credit of Night Shift').waitFor()
})

test('the margin of one account by model is on the screen, in its CSV and in what its columns open', async ({
  page,
  server,
}) => {
  const ofOne = `account=${HELIX.id}`
  await page.goto(`${server.address}/app/operator/usage?compare=before`)
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: HELIX.name, exact: true }).click()
  await page.waitForURL(`**/usage?compare=before&${ofOne}&by=model`)
  await page.getByRole('button', { name: `Account: ${HELIX.name}` }).waitFor()
  const csv = page.getByRole('link', { name: 'CSV' })
  expect(await csv.getAttribute('href')).toContain(ofOne)
  expect(await csv.getAttribute('download')).toMatch(/^usage-helix-lab-.*-by-model\.csv$/)
  const asked = server.asked.filter((one) => one.includes(ofOne))
  for (const call of ['operator/usage?', 'operator/usage/report?']) {
    expect(asked.filter((one) => one.includes(call)).length).toBeGreaterThan(0)
  }
  await page.getByTitle('Show failed requests').click()
  await page.waitForURL(`**/activity?**${ofOne}**`)
  await page.goBack()
  await page.getByRole('slider', { name: 'Spend by day' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/activity?**${ofOne}**`)
})

test('the Usage tab of an account has cost and margin of each group on a phone too', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  for (const by of ['model', 'tag']) {
    await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/usage?by=${by}`)
    const total = page.getByRole('table', { name: `Figures by ${by}` }).locator('tfoot tr')
    const { cost, margin } = operatorReport(new URLSearchParams({ by })).totals
    await total.getByText(`cost $${(cost / 1e6).toFixed(2)}`).waitFor()
    await total.getByText(`margin $${((margin ?? 0) / 1e6).toFixed(2)}`).waitFor()
    // They take no room from the words beside the spend.
    const words = await total.getByText(/ requests, .* failed$/).boundingBox()
    expect(words?.height).toBeLessThan(24)
  }
})

test('the Usage tab of an account has the provider cost of each group on a tablet', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('tablet')
  for (const by of ['model', 'tag']) {
    const path = `operator/accounts/${HELIX.id}/usage?by=${by}&compare=before`
    await page.goto(`${server.address}/app/${path}`)
    const table = page.getByRole('table', { name: `Figures by ${by}` })
    const { cost } = operatorReport(new URLSearchParams({ by })).totals
    const shown = table.locator('tfoot').getByText(`$${(cost / MICROS_PER_DOLLAR).toFixed(2)}`)
    await shown.filter({ visible: true }).waitFor()
    await table.getByRole('columnheader', { name: 'Provider cost' }).waitFor()
    await expectFits(page)
  }
})

test('the CSV by hour of an account has the operators’ columns on their tab, and not on its own page', async ({
  page,
  server,
}) => {
  const day = `from=2026-11-20&to=2026-11-20`
  const csv = page.getByRole('link', { name: 'CSV' })
  server.answer('/usage', json({ ...USAGE, step: 'hour' }))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/usage?${day}`)
  const path = `accounts/${HELIX.id}/usage.csv?`
  expect(await csv.getAttribute('href')).toContain(`/app/api/operator/${path}`)
  await page.goto(`${server.address}/app/${HELIX.id}/usage?${day}`)
  expect(await csv.getAttribute('href')).toContain(`/app/api/${path}`)
})
