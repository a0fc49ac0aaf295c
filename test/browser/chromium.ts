import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { NOW } from './stand-in-data.ts'

/** Pictures of every screen, for people to look at: not committed. */
const PICTURES = join(import.meta.dirname, '..', '..', 'build', 'pictures')

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where a Chromium is: `CHROMIUM`, or where systems put it; null where none is. */
export function findChromium(): string | null {
  const named = process.env['CHROMIUM']
  const places = named === undefined ? PROGRAMS : [named]
  return places.find((path) => existsSync(path)) ?? null
}

/** Starts the browser; a machine without one fails. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('there is no Chromium: apt-get install chromium')
  return chromium.launch({
    executablePath,
    timeout: 0,
    // As root its sandbox can't be set up; the pages are our own.
    args: ['--no-sandbox', '--force-color-profile=srgb', '--font-render-hinting=none'],
  })
}

/** A window: how wide, and in which theme. */
export interface Look {
  readonly width: 'desk' | 'tablet' | 'phone'
  readonly theme: 'light' | 'dark'
}

const SIZES = {
  desk: { width: 1440, height: 900 },
  tablet: { width: 840, height: 1120 },
  phone: { width: 360, height: 780 },
} as const

/** A window of a browser, whose tests have no other time-out than those of all tests. */
export async function openWindow(browser: Browser, look: Look): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: SIZES[look.width],
    deviceScaleFactor: look.width === 'phone' ? 2 : 1,
    colorScheme: look.theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    hasTouch: look.width === 'phone',
  })
  context.setDefaultTimeout(0)
  return context
}

/** A page of the made-up server, at its moment; what the browser refuses or logs as an error is kept. */
export async function openPage(context: BrowserContext): Promise<{
  readonly page: Page
  readonly complaints: string[]
}> {
  const page = await context.newPage()
  await page.clock.setFixedTime(NOW)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // What the API refuses is logged by the browser too, and is what some tests are about.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text())
    }
  })
  return { page, complaints }
}

/** Nothing on the page breaks WCAG 2.2 AA or axe's best practice, and nothing is wider than the window. */
export async function expectGoodPage(page: Page): Promise<void> {
  // The policy of the page lets no script in that is not its own; the debugger may.
  await page.evaluate(axe.source)
  const found = await page.evaluate(() =>
    // @ts-expect-error axe is in the page alone
    globalThis.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }),
  )
  const violations = found.violations.map(
    ({ id, nodes }: { id: string; nodes: readonly { html: string; failureSummary: string }[] }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary})`).join('\n  ')}`,
  )
  expect(violations).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
}

/** Writes a picture of the window. */
export async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true })
  await page.evaluate(() => document.fonts.ready)
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}
