import { expect } from 'vitest'
import { answeredScreens, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { HELIX, KEYS } from './stand-in-data.ts'
import { ACCOUNTS, NAMED_REQUESTS } from './stand-in-operator.ts'
import { PRICED, pricesOf, REFUSALS, REQUESTS, SUMMARY } from './stand-in-requests.ts'

/** The requests of all accounts, for operators. */

const ACTIVITY = 'operator/activity'
const NIGHT_SHIFT = ACCOUNTS[1]
const FINAL = NAMED_REQUESTS[4]

const SCREENS: readonly Screen[] = [
  { name: 'op-activity', path: ACTIVITY, text: 'Night Shift' },
  {
    name: 'op-activity-open',
    path: `${ACTIVITY}?request=${FINAL?.id}`,
    act: (page) => page.getByText('Generation ID').waitFor(),
    text: 'Provider cost',
  },
  {
    name: 'op-activity-account',
    path: `${ACTIVITY}?account=${NIGHT_SHIFT?.id}&endpoint=chat&tag=nightly&range=30d`,
    text: 'so far, back to',
  },
  {
    name: 'activity-refusals',
    path: `${HELIX.id}/activity`,
    act: (page) => page.locator('summary').click(),
    text: /Counted by the hour, since/,
  },
  {
    name: 'activity-prices',
    path: `${HELIX.id}/activity?request=${PRICED.id}`,
    text: '1,839 × $1.26 per million = $0.00231714',
  },
  {
    name: 'op-activity-prices',
    path: `${ACTIVITY}?request=${PRICED.id}`,
    text: '1,839 × $1.20 per million = $0.0022068',
  },
  ...answeredScreens(
    { path: `${ACTIVITY}?account=${NIGHT_SHIFT?.id}`, pathEnd: '/operator/requests' },
    [['op-activity-none', json(EMPTY), 'No requests match these filters.']],
  ),
  ...answeredScreens({ path: ACTIVITY, pathEnd: '/operator/requests' }, [
    ['op-activity-empty', json(EMPTY), 'Requests appear here as soon as they start.'],
    ['op-activity-error', down, 'The requests could not be loaded.'],
  ]),
]

testScreens(SCREENS)

test('on a phone, models are whole', async ({ pages, server }) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/${ACTIVITY}`)
  await page.getByText('Night Shift').filter({ visible: true }).first().waitFor()
  const cut = await page
    .locator('td.model')
    .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length)
  expect(cut).toBe(0)
})

test.for(['laptop', 'tablet'] as const)(
  'on a %s, the filters are in one row',
  async (width, { pages, server }) => {
    const { page } = await pages.of(width)
    await page.goto(`${server.address}/app/${ACTIVITY}`)
    const filters = page.getByRole('group', { name: 'Filters' })
    const first = await filters.getByRole('button', { name: 'Date range' }).boundingBox()
    expect((await filters.boundingBox())?.height).toBe(first?.height)
  },
)

test('next to an open request, models and accounts of the list are not cut', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${ACTIVITY}?request=${FINAL?.id}`)
  await page.getByText('Generation ID').waitFor()
  await page.locator('td.model').getByText('Night Shift').first().waitFor()
  const cut = await page
    .locator('td.model')
    .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length)
  expect(cut).toBe(0)
})

test('an operator reads the requests of all accounts, or of the chosen one', async ({
  page,
  server,
}) => {
  const asked = (path: string) => server.asked.filter((call) => call.includes(path))
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('link', { name: 'Activity', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
  await page.getByRole('columnheader', { name: 'Account' }).waitFor()
  expect(await page.getByRole('button', { name: 'Key', exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Night Shift' }).click()
  await page.waitForURL(`${server.address}/app/${ACTIVITY}?account=${NIGHT_SHIFT?.id}`)
  await expect.poll(() => asked('operator/requests?').at(-1)).toMatch(`account=${NIGHT_SHIFT?.id}`)
  await expect
    .poll(() => asked('operator/requests/summary').at(-1))
    .toMatch(`account=${NIGHT_SHIFT?.id}`)
  await page.getByRole('button', { name: 'Key', exact: true }).waitFor()
  const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href')
  expect(csv).toMatch(/^\/app\/api\/operator\/requests\.csv\?/)
  expect(csv).toMatch(`account=${NIGHT_SHIFT?.id}`)
  // No call names an account that is not there, and of all accounts no request is read as a member of one.
  expect(asked(' accounts/').filter((call) => /accounts\/(\?|$|.*\/requests)/.test(call))).toEqual(
    [],
  )
})

test.for([ACTIVITY, `${HELIX.id}/activity`])(
  'on a tablet the names of models and accounts in %s are whole',
  async (path, { pages, server }) => {
    const { page } = await pages.of('tablet')
    await page.goto(`${server.address}/app/${path}`)
    await page.locator('.requests .open-it').first().waitFor()
    const cut = await page
      .locator('.requests td.model')
      .evaluateAll((cells) =>
        cells.flatMap((cell) => (cell.scrollWidth > cell.clientWidth ? [cell.textContent] : [])),
      )
    expect(cut).toEqual([])
  },
)

test('the counts of all accounts are not read with each poll', async ({ page, server }) => {
  const asked = (path: string) => server.asked.filter((call) => call.includes(path)).length
  await page.goto(`${server.address}/app/${ACTIVITY}`)
  await page.getByText('spent').waitFor()
  await expect.poll(() => asked('operator/requests?')).toBeGreaterThan(4)
  expect(asked('operator/requests/summary')).toBeLessThanOrEqual(2)
})

test('an open request names its account and leads there', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${ACTIVITY}?request=${FINAL?.id}`)
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByRole('link', { name: FINAL?.account_name ?? '' }).click()
  await page.waitForURL(`${server.address}/app/operator/accounts/${FINAL?.account_id}`)
})

test('a request that is not in the list has the names of its account and key', async ({
  page,
  server,
}) => {
  const other = { ...FINAL, id: 'req_other', account_name: 'Tern & Co', key_name: 'ferry' }
  server.answer('/operator/requests/req_other', json(other))
  await page.goto(`${server.address}/app/${ACTIVITY}?request=req_other`)
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByRole('link', { name: 'Tern & Co' }).waitFor()
  await drawer.getByText('ferry').waitFor()
})

test('upstreams are a filter, in the address, the list, the counts and the CSV', async ({
  page,
  server,
}) => {
  const asked = (path: string) => server.asked.findLast((call) => call.includes(path))
  await page.goto(`${server.address}/app/${ACTIVITY}`)
  await page.getByRole('button', { name: 'Upstream', exact: true }).click()
  await page.getByLabel('anthropic', { exact: true }).check()
  await page.waitForURL(/activity\?upstream=/)
  for (const path of ['operator/requests?', 'operator/requests/summary?']) {
    await expect.poll(() => asked(path)).toMatch('upstream=anthropic')
  }
  expect(await page.getByRole('link', { name: 'CSV' }).getAttribute('href')).toMatch(
    'upstream=anthropic',
  )
})

test.for([
  ['upstream', /activity\?from=2026-10-23&to=2026-10-23&upstream=/, 'Upstream: openrouter'],
  ['key', /activity\?from=2026-10-23&to=2026-10-23&key=/, /Key: (coding|support|nightly)/],
] as const)(
  'a part of a column by %s opens the requests of that part',
  async ([by, address, filter], { page, server }) => {
    await page.goto(`${server.address}/app/operator/usage?by=${by}`)
    await page.locator('.column path').first().click()
    await page.waitForURL(address)
    await page.getByText(filter).first().waitFor()
  },
)

test.for([
  ['operator?range=7d', /operator\/activity\?range=7d&failed=true$/],
  ['operator/usage', /operator\/activity\?range=30d&failed=true$/],
  [`operator/accounts/${HELIX.id}`, /\/activity\?range=30d&failed=true$/],
  [`${HELIX.id}/overview`, /\/activity\?range=30d&failed=true$/],
] as const)(
  'failed requests are one click from the figures of %s',
  async ([path, address], { page, server }) => {
    await page.goto(`${server.address}/app/${path}`)
    const title = page.getByRole('heading', { name: 'Failed', exact: true })
    expect(await title.getAttribute('title')).toMatch(/refused .* are not among them/)
    await page.getByTitle('Show failed requests').click()
    await page.waitForURL(address)
    await page.getByText('Failed only').first().waitFor()
  },
)

test('a column of usage and margin opens the requests of its day', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator/usage?by=model`)
  await page.getByRole('slider', { name: 'Spend by day' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/operator\/activity\?from=2026-11-21&to=2026-11-21$/)
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
})

test.for([`${HELIX.id}/activity`, `operator/accounts/${HELIX.id}/activity`] as const)(
  '%s says how many requests were refused and why, with requests and without',
  async (path, { page, server }) => {
    const line = page.locator('summary')
    await page.goto(`${server.address}/app/${path}`)
    await page.getByText('41 requests were refused before they were forwarded').waitFor()
    expect(await line.textContent()).toMatch(/30 insufficient_credit, last 22:00/)
    server.answer(path.startsWith('operator') ? '/operator/requests' : '/requests', json(EMPTY))
    await page.reload()
    await page.getByText('No requests in this period.').waitFor()
    await line.click()
    const row = page.getByRole('row').filter({ hasText: 'insufficient_credit' })
    await row.getByText('Add credit, lower the output cap').waitFor()
    expect(await row.getByText(KEYS[2]?.name ?? '').count()).toBe(1)
    await page
      .getByRole('row')
      .filter({ hasText: 'api_key_disabled' })
      .getByText('(deleted)')
      .waitFor()
  },
)

test('a request whose cost the provider reported says so, and shows no price times tokens', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity?request=${REQUESTS[4]?.id}`)
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByText('The charge follows the provider’s own report of its cost.').waitFor()
  expect(await drawer.getByText('per million').count()).toBe(0)
})

test('a request that an operator settled says so, to operators with the cost', async ({
  page,
  server,
}) => {
  const settled = REQUESTS[4] ?? PRICED
  const { id, charge } = settled
  const prices = { ...pricesOf(settled), basis: 'settled' }
  server.answer(`/requests/${id}/prices`, json({ ...prices, charge }))
  await page.goto(`${server.address}/app/${HELIX.id}/activity?request=${id}`)
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByText('The operator settled this request: the charge follows').waitFor()
  server.answer(`/operator/requests/${id}/prices`, json(prices))
  await page.goto(`${server.address}/app/${ACTIVITY}?request=${id}`)
  await drawer.getByText('An operator settled this request at a provider cost of $0.0176').waitFor()
  await drawer.getByRole('link', { name: 'Audit log' }).click()
  await page.waitForURL(/audit-log\?account=acct_.*&kind=settleRequest$/)
})

test("a member sees the charged prices of a request, and an operator the provider's prices and the fee", async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity?request=${PRICED.id}`)
  await page.getByText('61 × $6.30 per million = $0.0003843').waitFor()
  expect(await page.getByText('Fee').count()).toBe(0)
  await page.goto(`${server.address}/app/${ACTIVITY}?request=${PRICED.id}`)
  await page.getByText('61 × $6.00 per million = $0.000366').waitFor()
  await page.getByText('With the fee of 5%, the charge is $0.002701.').waitFor()
})

test('refused requests are counted with the picked key, and other filters are said not to apply', async ({
  page,
  server,
}) => {
  const key = KEYS[1]?.id
  await page.goto(
    `${server.address}/app/${HELIX.id}/activity?key=${key}&model=acme/sage&tag=nightly`,
  )
  await page.getByText('9 requests with this key were refused before they were forwarded').waitFor()
  await page.getByText('not filtered by model and tag').waitFor()
  const [asked = ''] = server.asked.filter((one) => one.includes('/refusals'))
  expect(asked).toContain(`key=${key}`)
  server.answer('/refusals', json({ ...REFUSALS, requests: 0, codes: [], keys: [] }))
  await page.reload()
  await page.getByText('No requests with this key were refused before they were').waitFor()
})

test('refused requests say since when they are counted, and lead to the settings of their keys', async ({
  page,
  server,
}) => {
  server.answer('/refusals', json({ ...REFUSALS, from: '2026-10-01T00:00:00.000Z' }))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/activity?range=all`)
  const line = page.locator('summary')
  await line.getByText('before they were forwarded, since 22 Oct').waitFor()
  await line.click()
  await page
    .getByText(/Counted by the hour, since 22\sOct, .* Older counts are not kept\./)
    .waitFor()
  const row = page.getByRole('row').filter({ hasText: 'rate_limited' })
  await row.getByRole('link', { name: String(KEYS[1]?.name) }).click()
  await page.waitForURL(/operator\/accounts\/acct_[^/]+\/keys\?find=/)
})

test('refused requests of the last hour are of that hour', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity?range=1h`)
  await page.getByText('22 requests were refused before they were forwarded').waitFor()
  expect(await page.locator('summary').textContent()).not.toContain('rate_limited')
})

test.for([`operator/accounts/${HELIX.id}`, `${HELIX.id}/overview`] as const)(
  'refused requests are one click from the figures of %s',
  async (path, { page, server }) => {
    await page.goto(`${server.address}/app/${path}`)
    await page.getByRole('link', { name: '41 refused' }).click()
    await page.waitForURL(/\/activity\?range=30d$/)
    await page.getByText('41 requests were refused').waitFor()
  },
)

test('where many requests of an account were refused, their share is as large as that of failed ones', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  const figure = page
    .locator('.stat')
    .filter({ has: page.getByRole('heading', { name: 'Failed' }) })
  const large = figure.locator('b')
  await figure.getByText('41 refused').waitFor()
  expect(await large.count()).toBe(1)
  server.answer('/refusals', json({ ...REFUSALS, requests: 1_000_000 }))
  await page.reload()
  await figure.getByText('1,000,000 refused').waitFor()
  await figure.getByRole('heading', { name: 'Refused' }).waitFor()
  expect(await large.last().textContent()).toMatch(/^\d+%$/)
})

test('an account without refused requests says so, and one whose counts fail says why', async ({
  page,
  server,
}) => {
  const none = { ...REFUSALS, requests: 0, codes: [], keys: [] }
  server.answer('/refusals', json(none))
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByText('No requests were refused before they were forwarded.').waitFor()
  server.answer('/refusals', json({ ...none, from: '2025-11-01T00:00:00.000Z' }))
  await page.reload()
  await page
    .getByText('No requests were refused since 22 Oct, 22:00. Older counts are not kept.')
    .waitFor()
  server.answer('/refusals', down)
  await page.reload()
  await page.getByText('Refused requests could not be loaded: The store is busy.').waitFor()
  server.answer('/refusals', json(REFUSALS))
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('41 requests were refused').waitFor()
})

test('Activity of all accounts says where refused requests are counted, and counts them for a chosen account', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${ACTIVITY}`)
  await page.getByText('Choose an account to see how many there were, and why.').waitFor()
  expect(server.asked.filter((asked) => asked.includes('/refusals'))).toEqual([])
  await page.goto(`${server.address}/app/${ACTIVITY}?account=${NIGHT_SHIFT?.id}&range=30d`)
  await page.getByText('41 requests were refused').waitFor()
  const [asked = ''] = server.asked.filter((one) => one.includes('/refusals'))
  expect(asked).toContain(`operator/accounts/${NIGHT_SHIFT?.id}/refusals?from=`)
})

test('the columns of the last 24 hours have hours on their axis, also where the first hour is whole', async ({
  page,
  server,
}) => {
  const hours = Array.from({ length: 25 }, (_, hour) => {
    const at = new Date(Date.UTC(2026, 10, 20, 22 + hour)).toISOString()
    return { at, requests: 4, failed: 0, charge: 40 }
  })
  const [first] = hours
  server.answer('/requests/summary', json({ ...SUMMARY, from: first?.at, steps: hours }))
  await page.goto(`${server.address}/app/${ACTIVITY}?range=24h`)
  const labels = page.locator('.hist text')
  await labels.first().waitFor()
  expect(await labels.allTextContents()).toEqual([
    expect.stringMatching(/^\d\d:00$/),
    expect.stringMatching(/^\d\d:00$/),
    'now',
  ])
})
