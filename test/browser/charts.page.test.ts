import { expect } from 'vitest'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { HELIX } from './stand-in-data.ts'
import { ALERTED_OVERVIEW, FIRST_OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'
import {
  NO_USAGE,
  operatorReport,
  USAGE_BY_KEY,
  USAGE_BY_TAG,
  USAGE_COMPARED,
  USAGE_OF_ONE,
  USAGE_WITHOUT_TAGS,
} from './stand-in-usage.ts'

/** Overview, Activity and Usage: each screen and each of its states. */

const at = (section: string) => `${HELIX.id}/${section}`

const SCREENS: readonly Screen[] = [
  {
    name: 'overview',
    path: at('overview'),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'anthropic/claude-sonnet-5',
  },
  {
    name: 'overview-day',
    path: at('overview'),
    act: (page) => page.locator('.columns svg').hover({ position: { x: 200, y: 120 } }),
    text: /^\w{3} \d+ \w{3}$/,
  },
  {
    name: 'overview-alerts',
    path: at('overview'),
    before: (server) => server.answer('/overview', json(ALERTED_OVERVIEW)),
    text: 'of its monthly $20.00',
  },
  {
    name: 'overview-first-day',
    path: at('overview'),
    before: (server) => server.answer('/overview', json(FIRST_OVERVIEW)),
    text: 'No requests yet',
  },
  {
    name: 'overview-error',
    path: at('overview'),
    before: (server) => server.answer('/overview', down),
    text: 'The overview could not be loaded.',
  },
  {
    name: 'overview-loading',
    path: at('overview'),
    before: (server) => server.answer('/overview', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Overview',
  },
  { name: 'activity', path: `${at('activity')}?range=1h`, text: 'Unresolved' },
  {
    name: 'activity-open',
    path: `${at('activity')}?range=1h&key=a&key=b&key=c&request=${REQUESTS[4]?.id}`,
    text: '$0.018530',
  },
  {
    name: 'activity-failed',
    path: `${at('activity')}?range=1h&request=${REQUESTS[8]?.id}`,
    text: 'upstream_error',
  },
  {
    name: 'activity-filter',
    path: at('activity'),
    act: (page) => page.getByRole('button', { name: 'Model' }).click(),
    text: 'black-forest/flux-3',
  },
  {
    name: 'activity-empty',
    path: at('activity'),
    before: (server) => server.answer('/requests', json(EMPTY)),
    text: 'No requests in this period.',
  },
  {
    name: 'activity-searching',
    path: `${at('activity')}?model=acme/rare`,
    before: (server) =>
      server.answer(
        '/requests',
        json({ ...EMPTY, next_cursor: 'more', searched_back_to: '2026-11-21T03:00:00.000Z' }),
      ),
    text: 'No request matches so far',
  },
  {
    name: 'activity-error',
    path: at('activity'),
    before: (server) => server.answer('/requests', down),
    text: 'The requests could not be loaded.',
  },
  {
    name: 'activity-loading',
    path: at('activity'),
    before: (server) => server.answer('/requests', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Activity',
  },
  {
    name: 'activity-stale',
    path: at('activity'),
    async act(page, server) {
      await page.getByText('Unresolved').waitFor()
      server.answer('/requests', down)
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'usage',
    path: at('usage'),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'All 7 models',
  },
  {
    name: 'usage-one',
    path: `${at('usage')}?measure=tokens`,
    before: (server) => server.answer('/usage', json(USAGE_OF_ONE)),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'Tokens by day',
  },
  {
    name: 'usage-compared',
    path: `${at('usage')}?compare=before`,
    before: (server) => server.answer('/usage', json(USAGE_COMPARED)),
    act: (page) => page.locator('.columns .compared').waitFor(),
    text: 'Spend before',
  },
  {
    name: 'usage-range',
    path: `${at('usage')}?from=2026-10-01&to=2026-10-31&compare=before`,
    act: (page) => page.getByRole('button', { name: 'Date range' }).click(),
    text: '31 days. Days are UTC, as in the ledger.',
  },
  {
    name: 'activity-range',
    path: at('activity'),
    act: (page) => page.getByRole('button', { name: 'Date range' }).click(),
    text: 'Last hour',
  },
  {
    name: 'usage-first-byte',
    path: `${at('usage')}?measure=p95`,
    act: (page) => page.locator('.columns svg').hover({ position: { x: 200, y: 120 } }),
    text: /^\w{3} \d+ \w{3}$/,
  },
  {
    name: 'usage-by-key',
    path: `${at('usage')}?by=key&measure=requests&range=7d&step=hour`,
    before: (server) => server.answer('/usage', json(USAGE_BY_KEY)),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'Pruned requests, keys known by day only',
  },
  { name: 'usage-by-tag', path: `${at('usage')}?by=tag`, text: 'All requests, each once' },
  {
    name: 'usage-by-tag-none',
    path: `${at('usage')}?by=tag&measure=tokens`,
    before: (server) => server.answer('/usage/report', json(USAGE_WITHOUT_TAGS)),
    text: 'No request in this range has a tag',
  },
  {
    name: 'usage-by-tag-empty',
    path: `${at('usage')}?by=tag&range=today`,
    before(server) {
      const totals = { ...USAGE_BY_TAG.totals, requests: 0 }
      server.answer('/usage/report', json({ ...USAGE_BY_TAG, totals, data: [] }))
    },
    text: 'No requests in this period.',
  },
  {
    name: 'usage-by-tag-error',
    path: `${at('usage')}?by=tag&measure=p95`,
    before: (server) => server.answer('/usage/report', down),
    text: 'The usage could not be loaded.',
  },
  {
    name: 'usage-by-tag-loading',
    path: `${at('usage')}?by=tag`,
    before: (server) => server.answer('/usage/report', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Usage',
  },
  {
    name: 'usage-menu',
    path: `${at('usage')}?range=7d`,
    act: (page) => page.getByRole('button', { name: 'Measure' }).click(),
    text: 'First byte, p95',
  },
  {
    name: 'usage-empty',
    path: at('usage'),
    before: (server) => server.answer('/usage', json(NO_USAGE)),
    text: 'No requests in this period.',
  },
  {
    name: 'usage-error',
    path: at('usage'),
    before: (server) => server.answer('/usage', down),
    text: 'The usage could not be loaded.',
  },
  {
    name: 'usage-loading',
    path: at('usage'),
    before: (server) => server.answer('/usage', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Usage',
  },
  {
    name: 'usage-stale',
    path: at('usage'),
    async act(page, server) {
      await page.getByText('All 7 models').waitFor()
      server.answer('/usage', down)
      await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'The store is busy.',
  },
]

testScreens(SCREENS)

test('a chart has its width when it is first painted, before an observer tells it', async ({
  page,
  server,
}) => {
  await page.addInitScript(() => {
    window.ResizeObserver = class {
      observe() {}
      unobserve() {}
      disconnect() {}
    }
  })
  await page.goto(`${server.address}/app/${at('overview')}`)
  const chart = page.locator('.columns svg')
  await chart.waitFor()
  expect(Number(await chart.getAttribute('width'))).toBeGreaterThan(500)
})

test('a chart of nothing has no scale', async ({ page, server }) => {
  const report = JSON.stringify(operatorReport(new URLSearchParams({ by: 'day' })))
  const nothing = JSON.parse(report, (_, value) => (typeof value === 'number' ? 0 : value))
  server.answer('/operator/usage/report', json(nothing))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  await page.locator('.columns svg text').first().waitFor()
  expect(await page.getByText(/^\$0(\.0*1)?$/).allTextContents()).toEqual(['$0'])
})
