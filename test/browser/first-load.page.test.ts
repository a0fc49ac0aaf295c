import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { expect } from 'vitest'
import { openWindow } from './chromium.ts'
import { test } from './page-test.ts'
import { HELIX } from './stand-in-data.ts'

/** How long a browser that has nothing of the page needs, and what it loads then. */

const ROOT = join(import.meta.dirname, '..', '..')
const FIRST_PAINT_MS_MAX = 1_000
const USABLE_MS_MAX = 2_000
// Other work on the machine can only slow a load down: one load in time is enough.
const LOADS_MAX = 50

/** Opens the Overview in a browser without a cache, and says when it was painted and when it had its figures. */
async function loadCold(
  browser: Browser,
  address: string,
): Promise<{ readonly paintMs: number; readonly usableMs: number }> {
  await using context = await openWindow(browser, { width: 'desk', theme: 'light' })
  const page = await context.newPage()
  await page.goto(`${address}/app/${HELIX.id}/overview`, { waitUntil: 'commit' })
  await page.getByText('Available credit').waitFor()
  await page.locator('.columns path').first().waitFor()
  // The clock of the page: it began with the navigation.
  const times = await page.evaluate(() => ({
    usableMs: performance.now(),
    paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity,
  }))
  return times
}

test('a first load paints within 1 s and can be used within 2 s, at best', async ({
  browser,
  server,
}) => {
  let best = { paintMs: Number.POSITIVE_INFINITY, usableMs: Number.POSITIVE_INFINITY }
  let loads = 0
  const isInTime = () => best.paintMs <= FIRST_PAINT_MS_MAX && best.usableMs <= USABLE_MS_MAX
  while (loads++ < LOADS_MAX && !isInTime()) {
    const { paintMs, usableMs } = await loadCold(browser, server.address)
    best = { paintMs: Math.min(best.paintMs, paintMs), usableMs: Math.min(best.usableMs, usableMs) }
  }
  const { paintMs, usableMs } = best
  console.log(
    `cold loads: first paint ${Math.round(paintMs)} ms, usable ${Math.round(usableMs)} ms`,
  )
  expect(paintMs).toBeLessThanOrEqual(FIRST_PAINT_MS_MAX)
  expect(usableMs).toBeLessThanOrEqual(USABLE_MS_MAX)
})

test('the scripts of all screens are loaded while the browser has nothing to do, and each runs', async ({
  browser,
  server,
}) => {
  const files = await readdir(join(ROOT, 'build', 'web', 'assets'))
  const scripts = files.filter((name) => name.endsWith('.js')).map((name) => `/app/assets/${name}`)
  await using context = await openWindow(browser, { width: 'desk', theme: 'light' })
  const page = await context.newPage()
  const loads = (await screenNames()).map((name) =>
    page.waitForResponse(new RegExp(`/assets/${name}-[\\w-]{8}\\.js$`)),
  )
  expect(loads.length).toBeGreaterThan(20)
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await Promise.all(loads)
  // The page is silent about a script that fails before its screen is opened; another import fails as the first did.
  await page.evaluate((paths) => Promise.all(paths.map((path) => import(path))), scripts)
})

/** The names of the files of all screens, by the routes. */
async function screenNames(): Promise<readonly string[]> {
  const routes = ['routes.tsx', 'operator-routes.tsx'].map((name) => join(ROOT, 'web', name))
  const texts = await Promise.all(routes.map((path) => readFile(path, 'utf8')))
  const screens = texts.join('').matchAll(/\b[A-Z]\w+: \(\) => import\('\S+\/([\w-]+)\.tsx'\)/g)
  return [...new Set([...screens].map(([, name = '']) => name))]
}
