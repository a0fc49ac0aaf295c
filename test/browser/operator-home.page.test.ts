import { expect } from 'vitest'
import { expectFits } from './chromium.ts'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { HELIX, listOf } from './stand-in-data.ts'
import { ACCOUNTS, HEALTH, WEBHOOKS } from './stand-in-operator.ts'
import { OPERATOR_REPORT, TOP_UPS } from './stand-in-usage.ts'

/** Home of operators. */

const NONE = { ...OPERATOR_REPORT.totals, requests: 0, charge: 0, cost: 0, margin: 0 }
const LISTS = ['upstreams', 'purchases', 'unsettled', 'accounts', 'webhooks']

const SCREENS: readonly Screen[] = [
  { name: 'op-home', path: 'operator', text: 'openrouter fails 1 in 8 requests' },
  { name: 'op-home-by-model', path: 'operator?by=model&range=7d', text: 'Margin by model' },
  {
    name: 'op-home-empty',
    path: 'operator',
    before(server) {
      server.answer('/operator/usage/report', json({ ...OPERATOR_REPORT, totals: NONE, data: [] }))
      for (const name of LISTS) server.answer(`/operator/${name}`, json(EMPTY))
      const catalog = { ...HEALTH.catalog, doubted: [] }
      server.answer('/operator/health', json({ ...HEALTH, catalog }))
    },
    act: (page) => page.getByText('No requests in this period.').waitFor(),
    text: 'Nothing needs attention.',
  },
  {
    name: 'op-home-error',
    path: 'operator',
    before(server) {
      server.answer('/operator/usage/report', down)
      server.answer('/operator/health', down)
    },
    act: (page) => page.getByText('Some checks could not be loaded.').waitFor(),
    text: 'The figures could not be loaded.',
  },
]

testScreens(SCREENS)

test('each line of Needs attention leads to its screen', async ({ page, server }) => {
  const follow = async (name: string, to: string) => {
    await page.goto(`${server.address}/app/operator`)
    await page.getByRole('button', { name: 'Show all 11 items' }).click()
    await page.getByRole('link', { name }).click()
    await page.waitForURL(`${server.address}/app/operator/${to}`)
  }
  await follow('openrouter fails 1 in 8 requests', 'upstreams/openrouter')
  await follow('2 purchases are on hold', 'purchases')
  await follow('3 unsettled requests', 'unsettled')
  await follow('Tern & Co owes $4.20', 'accounts/**')
  await follow('Fjord Analytics: 1,180 refused, 6 failed', 'accounts/*/activity')
  await follow('1 account with low credit', 'accounts?state=low_credit&sort=available')
})

test('Needs attention begins with its six most urgent items, which leaves no empty column beside it', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator`)
  const items = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
  const all = page.getByRole('button', { name: 'Show all 11 items' })
  await all.waitFor()
  expect(await items.count()).toBe(6)
  await items.getByText('openrouter fails 1 in 8 requests').waitFor()
  await all.click()
  expect(await items.count()).toBe(11)
})

test.for([1440, 1280, 1201, 1024, 768])(
  'in a window of %i px, a long account name has one line, and is whole in its title',
  async (widthPx, { page, server }) => {
    await page.setViewportSize({ width: widthPx, height: 900 })
    await page.goto(`${server.address}/app/operator`)
    const name = page.getByTitle('whose account has a name that is longer than others')
    await name.waitFor()
    const oneLinePx = await page
      .getByTitle('Helix Lab')
      .first()
      .evaluate((b) => b.getBoundingClientRect().height)
    expect(await name.evaluate((b) => b.getBoundingClientRect().height)).toBe(oneLinePx)
    await expectFits(page)
  },
)

test('a row that needs attention is one link with a chevron', async ({ page, server }) => {
  for (const [path, name] of [
    ['operator', '2 purchases are on hold'],
    [`${HELIX.id}/overview`, '$5.00 of free credit expires on 30 Nov'],
  ] as const) {
    await page.goto(`${server.address}/app/${path}`)
    const row = page.getByRole('listitem').filter({ has: page.getByRole('link', { name }) })
    await row.waitFor()
    expect(await row.locator('> svg').count()).toBe(1)
    const box = await row.boundingBox()
    await row.click({ position: { x: (box?.width ?? 0) - 4, y: 4 } })
    await page.waitForURL((url) => !url.pathname.endsWith(path))
  }
})

test('two webhooks of one host that fail have a line each, also once other lines are gone', async ({
  page,
  server,
}) => {
  const [webhook] = WEBHOOKS
  server.answer('/operator/webhooks', json(listOf([webhook, { ...webhook, id: 'hook_2' }])))
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('button', { name: /^Show all \d+ items$/ }).click()
  const lines = page
    .getByRole('listitem')
    .filter({ hasText: 'Webhook desk.helix.example is failing' })
  await expect.poll(() => lines.count()).toBe(2)
  server.answer('/operator/upstreams', json(EMPTY))
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await page.getByText('openrouter fails').waitFor({ state: 'detached' })
  expect(await lines.count()).toBe(2)
})

test('a purchase that needs attention names its way of payment in words', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator`)
  await page.getByText('Night Shift, $0.40 with USDC on Base').waitFor()
})

test('figures of upstreams that could not be read are dashes, not zeros', async ({
  page,
  server,
}) => {
  server.answer('/operator/usage/report', down)
  await page.goto(`${server.address}/app/operator`)
  const row = page.getByRole('row').filter({ hasText: 'own-vllm-in-the-cellar' })
  await row.waitFor()
  expect(await row.locator('td.num').filter({ visible: true }).allTextContents()).toEqual([
    '–',
    '– errors',
    '–',
    '–',
  ])
})

test('top-ups are less what refunds and disputes removed, and both amounts are below', async ({
  page,
  server,
}) => {
  server.answer('/operator/top-ups', json({ ...TOP_UPS, reversed: 250_000_000 }))
  await page.goto(`${server.address}/app/operator`)
  await page.getByText('$11,200.00', { exact: true }).waitFor()
  await page.getByText('$11,450.00 added, $250.00 refunded or disputed').waitFor()
  server.answer('/operator/top-ups', json({ ...TOP_UPS, amount: 0, reversed: 30_000_000 }))
  await page.reload()
  await page.getByText(/^−\u2060?\$30\.00$/).waitFor()
})

test('the side bar marks Home only on Home', async ({ page, server }) => {
  const home = page
    .getByRole('navigation', { name: 'Operator' })
    .getByRole('link', { name: 'Home' })
  await page.goto(`${server.address}/app/operator?by=model`)
  await home.waitFor()
  expect(await home.getAttribute('aria-current')).toBe('page')
  await page.getByRole('link', { name: /^Accounts/ }).click()
  await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
  await expect.poll(() => home.getAttribute('aria-current')).toBeNull()
})

test('the side bar counts the accounts', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator`)
  await page.locator('.nav a', { hasText: 'Accounts' }).locator('.count').waitFor()
  expect(await page.locator('.nav a', { hasText: 'Accounts' }).textContent()).toBe(
    `Accounts ${ACCOUNTS.length}`,
  )
})

test.for(['operator', 'operator/usage'])(
  'the chart of %s is asked for together with its figures, not after them',
  async (path, { page, server }) => {
    server.answer('/operator/usage/report', { kind: 'silence' })
    await page.goto(`${server.address}/app/${path}`)
    await expect.poll(() => server.asked.join()).toContain('GET operator/usage?')
  },
)

const ONE = `operator/accounts/${HELIX.id}`

test.for([
  ['operator', 'report?from=2026-09', 'The comparison'],
  ['operator', '&by=upstream', 'The figures of the range'],
  ['operator', '&by=model', 'The margin by model'],
  ['operator', 'top-ups?from=2026-10', 'The top-ups'],
  ['operator', 'top-ups?from=2026-09', 'The earlier top-ups'],
  [ONE, 'report?from=2026-09', 'The comparison'],
  [ONE, 'top-ups?from=2026-10', 'The top-ups'],
  [`${ONE}/usage`, '/operator/usage/report', 'Provider cost and margin'],
  [`${ONE}/usage?by=tag`, '/operator/usage/report', 'Provider cost and margin'],
  ['operator/usage?compare=before', 'report?from=2026-09', 'The comparison'],
  ['operator/upstreams/openrouter', '/operator/models', 'The models that are not offered'],
  ['operator/health', '/operator/webhooks', 'The webhooks'],
] as const)(
  '%s says what could not be loaded where a call fails, and asks again: %s',
  async ([path, call, what], { page, server }) => {
    const message = 'The store is busy.'
    const fails = (url: URL) => url.href.replaceAll('%3A', ':').includes(call)
    const body = { error: { message, type: 'error', code: 'service_unavailable', param: null } }
    await page.route(fails, (route) => route.fulfill({ status: 500, json: body }))
    await page.goto(`${server.address}/app/${path}`)
    const main = page.getByRole('main')
    const words = main.locator('.stale, .blank').filter({ hasText: `${what} could not be loaded.` })
    await words.getByText(message).waitFor()
    await page.unrouteAll()
    await words.getByRole('button', { name: 'Try again' }).click()
    await words.waitFor({ state: 'detached' })
    await main.getByText('could not be loaded').waitFor({ state: 'detached' })
  },
)

test('the focus stays on its line when a line above goes away', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator`)
  const line = page.getByRole('link', { name: '2 purchases are on hold' })
  await line.focus()
  server.answer('/operator/upstreams', json(EMPTY))
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await page.getByText('openrouter fails').waitFor({ state: 'detached' })
  expect(await line.evaluate((link) => link === document.activeElement)).toBe(true)
})
