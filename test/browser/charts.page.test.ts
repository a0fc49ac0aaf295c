import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import { at, HELIX } from './stand-in-data.ts'
import { ALERTED_OVERVIEW, FIRST_OVERVIEW, OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'
import {
  NO_USAGE,
  operatorReport,
  USAGE_BY_HOUR,
  USAGE_BY_KEY,
  USAGE_BY_TAG,
  USAGE_COMPARED,
  USAGE_OF_ONE,
  USAGE_WITHOUT_TAGS,
} from './stand-in-usage.ts'

/** Overview, Activity and Usage: each screen and each of its states. */

const NO_CREDIT_YET = { ...FIRST_OVERVIEW, attention: [{ kind: 'no_credit', owed: 0 }] }

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
  ...answeredScreens({ path: at('overview'), pathEnd: '/overview' }, [
    ['overview-alerts', json(ALERTED_OVERVIEW), 'of its monthly $20.00'],
    ['overview-first-day', json(FIRST_OVERVIEW), 'No requests yet'],
    ['overview-no-credit', json(NO_CREDIT_YET), /^Add credit, create a key, put it into/],
    ['overview-error', down, 'The overview could not be loaded.'],
    ['overview-loading', silent, 'Overview'],
  ]),
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
    act: press('Model'),
    text: 'black-forest/flux-3',
  },
  ...answeredScreens({ path: at('activity'), pathEnd: '/requests' }, [
    ['activity-empty', json(EMPTY), 'No requests in this period.'],
    ['activity-error', down, 'The requests could not be loaded.'],
    ['activity-loading', silent, 'Activity'],
  ]),
  ...answeredScreens({ path: `${at('activity')}?model=acme/rare`, pathEnd: '/requests' }, [
    [
      'activity-searching',
      json({ ...EMPTY, next_cursor: 'more', searched_back_to: '2026-11-21T03:00:00.000Z' }),
      'No request matches so far',
    ],
  ]),
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
    act: press('Date range'),
    text: '31 days. Days are UTC, as in the ledger.',
  },
  { name: 'activity-range', path: at('activity'), act: press('Date range'), text: 'Last hour' },
  {
    name: 'usage-first-byte',
    path: `${at('usage')}?measure=p95`,
    act: async (page) => {
      const chart = page.locator('.columns svg')
      // The bar of a phone covers no link in part then.
      await chart.evaluate((svg) => svg.scrollIntoView({ block: 'center' }))
      await chart.hover({ position: { x: 200, y: 120 } })
    },
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
  ...answeredScreens({ path: `${at('usage')}?by=tag&measure=tokens`, pathEnd: '/usage/report' }, [
    ['usage-by-tag-none', json(USAGE_WITHOUT_TAGS), 'No request in this period has a tag'],
  ]),
  {
    name: 'usage-by-tag-empty',
    path: `${at('usage')}?by=tag&range=today`,
    before(server) {
      const totals = { ...USAGE_BY_TAG.totals, requests: 0 }
      server.answer('/usage/report', json({ ...USAGE_BY_TAG, totals, data: [] }))
    },
    text: 'No requests in this period.',
  },
  ...answeredScreens({ path: `${at('usage')}?by=tag&measure=p95`, pathEnd: '/usage/report' }, [
    ['usage-by-tag-error', down, 'The usage report could not be loaded.'],
  ]),
  ...answeredScreens({ path: `${at('usage')}?by=tag`, pathEnd: '/usage/report' }, [
    ['usage-by-tag-loading', silent, 'Usage'],
  ]),
  {
    name: 'usage-menu',
    path: `${at('usage')}?range=7d`,
    act: press('Measure'),
    text: 'First byte, 95%',
  },
  ...answeredScreens({ path: at('usage'), pathEnd: '/usage' }, [
    ['usage-empty', json(NO_USAGE), 'No requests in this period.'],
    ['usage-error', down, 'The usage report could not be loaded.'],
    ['usage-loading', silent, 'Usage'],
  ]),
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

test('a chart has its width at the first paint, before an observer reports it', async ({
  ownPage: page,
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

test('a chart without values has no scale', async ({ page, server }) => {
  const report = JSON.stringify(operatorReport(new URLSearchParams({ by: 'day' })))
  const nothing = JSON.parse(report, (_, value) => (typeof value === 'number' ? 0 : value))
  server.answer('/operator/usage/report', json(nothing))
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  await page.locator('.columns svg text').first().waitFor()
  expect(await page.getByText(/^\$0(\.0*1)?$/).allTextContents()).toEqual(['$0'])
})

test('a chart by hour names each day once', async ({ page, server }) => {
  server.answer('/usage', json(USAGE_BY_HOUR))
  await page.goto(`${server.address}/app/${at('usage')}?by=key&range=7d&step=hour`)
  await page.locator('.columns path').first().waitFor()
  const labels = await page.locator('.columns svg > text').allTextContents()
  expect(labels.length).toBeGreaterThan(1)
  expect(labels).toEqual([...new Set(labels)])
})

test('the label of the last wide column is below its middle', async ({ page, server }) => {
  const few = <Step>(steps: readonly Step[]) => steps.slice(0, 4)
  server.answer(
    '/usage',
    json({
      ...USAGE_OF_ONE,
      step: 'month',
      steps: [8, 9, 10, 11].map(
        (month) => `2026-${String(month).padStart(2, '0')}-01T00:00:00.000Z`,
      ),
      all: few(USAGE_OF_ONE.all),
      series: USAGE_OF_ONE.series.map((one) => ({ ...one, steps: few(one.steps) })),
    }),
  )
  await page.goto(`${server.address}/app/${at('usage')}?range=year`)
  const middleOf = async (shape: Locator) => {
    const { x = 0, width = 0 } = (await shape.boundingBox()) ?? {}
    return x + width / 2
  }
  const columns = page.locator('.columns .column-hit')
  await columns.nth(3).waitFor()
  const labels = page.locator('.columns svg > text')
  expect(await labels.allTextContents()).toEqual(['Aug 2026', 'Sept 2026', 'Oct 2026', 'Nov 2026'])
  for (const place of [0, 3]) {
    const off = (await middleOf(labels.nth(place))) - (await middleOf(columns.nth(place)))
    expect([place, Math.abs(off) < 1]).toEqual([place, true])
  }
})

test('charts name the time zone of their steps: UTC of days, the browser’s of hours', async ({
  browser,
  server,
}) => {
  server.answer('/usage', json(USAGE_BY_HOUR))
  const window = await browser.newContext({ timezoneId: 'Asia/Tokyo' })
  const page = await window.newPage()
  const title = (text: string) => page.getByRole('heading', { name: text, exact: true }).waitFor()
  await page.goto(`${server.address}/app/${at('usage')}?by=key&range=7d&step=hour`)
  await title('Spend by hour Asia/Tokyo')
  await page.goto(`${server.address}/app/${at('overview')}`)
  await title('Spend by day UTC')
  await window.close()
})

test('the first byte of one request is an approximate figure on Overview and in Usage', async ({
  page,
  server,
}) => {
  const one = { requests: 1, first_byte_ms_p50: 25, first_byte_ms_p95: 48 }
  server.answer('/overview', json({ ...OVERVIEW, figures: { ...OVERVIEW.figures, ...one } }))
  await page.goto(`${server.address}/app/${at('overview')}`)
  await page.getByText('about 25 ms', { exact: true }).waitFor()
  await page.getByText('median; too few requests for 95%').waitFor()
  const groups = USAGE_BY_HOUR.groups.map((group) => ({
    ...group,
    figures: { ...group.figures, ...one },
  }))
  server.answer('/usage', json({ ...USAGE_BY_HOUR, groups }))
  await page.goto(`${server.address}/app/${at('usage')}?by=key&range=7d&step=hour`)
  await page.getByRole('cell', { name: 'about 25 ms' }).first().waitFor()
  expect(await page.getByText('48 ms').count()).toBe(0)
})
