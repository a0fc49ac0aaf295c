import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { lookAt } from './looks.ts'
import { NOW } from './stand-in-data.ts'

/** The folder of pictures of every screen for people to look at, not committed; unset: none are taken. */
const PICTURES = process.env['PICTURES_FOLDER']

/** Whether pictures are asked for. */
export const TAKES_PICTURES = PICTURES !== undefined

const require = createRequire(import.meta.url)

// Less than half of what the package itself would have the browser read.
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

// The first is the same browser without windows, and takes a fifth less work for the same pages.
const PROGRAMS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The path of a Chromium: `CHROMIUM`, or that of a system's package; null: there is none. */
export function findChromium(): string | null {
  const named = process.env['CHROMIUM']
  const places = named === undefined ? PROGRAMS : [named]
  return places.find((path) => existsSync(path)) ?? null
}

/** Starts the browser; a machine without one fails. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === null)
    throw new Error('there is no Chromium: apt-get install chromium-headless-shell')
  return chromium.launch({
    executablePath,
    timeout: 0,
    args: [
      // As root its sandbox can't be set up; the pages are our own.
      '--no-sandbox',
      '--force-color-profile=srgb',
      '--font-render-hinting=none',
      // Each page is new: what compilers make of its scripts, and of axe's, is seldom run again.
      '--js-flags=--no-turbofan,--no-maglev',
    ],
  })
}

const SIZES = {
  desk: { width: 1440, height: 900 },
  laptop: { width: 1024, height: 768 },
  tablet: { width: 768, height: 1024 },
  // The narrowest in which rows of tables are no cards.
  small: { width: 641, height: 1024 },
  phone: { width: 360, height: 780 },
} as const

/** How wide a window is. */
export type Width = keyof typeof SIZES

/** A window: how wide, and in which theme. */
export interface Look {
  readonly width: Width
  readonly theme: 'light' | 'dark'
}

// Ends a wait for what never comes. Most steps take a tenth of a second, and none takes five.
const STEP_TIMEOUT_MS = 120_000

/** A window of a browser. Its steps have no other time-out than one that a busy machine does not meet. */
export async function openWindow(browser: Browser, look: Look): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: SIZES[look.width],
    // A quarter of the pixels to draw, where people don't look at them.
    deviceScaleFactor: look.width === 'phone' && TAKES_PICTURES ? 2 : 1,
    colorScheme: look.theme,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    hasTouch: look.width === 'phone',
  })
  context.setDefaultTimeout(STEP_TIMEOUT_MS)
  return context
}

/** As {@link openWindow}, at the moment of the made-up server. */
export async function openStillWindow(browser: Browser, look: Look): Promise<BrowserContext> {
  const context = await openWindow(browser, look)
  await context.clock.setFixedTime(NOW)
  return context
}

/** Has each page of a window load only the scripts of screens that it shows. Otherwise it loads all, while the browser has nothing to do. */
export async function loadOnlyShown(window: BrowserContext): Promise<void> {
  await window.addInitScript('globalThis.requestIdleCallback = () => 0')
}

/** Axe, as a page has it. */
interface InPage {
  readonly axe?: {
    run(part: Document, options: object): Promise<{ readonly violations: readonly Violation[] }>
  }
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Makes the window as wide as another; a page that is loaded then begins with it. */
export async function resizeEmpty(page: Page, width: Width): Promise<void> {
  const [old, size] = [page.viewportSize(), SIZES[width]]
  if (old?.width !== size.width || old.height !== size.height) await page.setViewportSize(size)
}

/** Makes the window as wide as another, and waits until the page has moved what depends on it. */
export async function resize(page: Page, width: Width): Promise<void> {
  await setSize(page, SIZES[width])
}

/** Changes the size of the window, and waits until the page has moved what depends on it. */
async function setSize(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await lookAt(page, 'settled')
}

/** Changes the theme, and waits until the page is drawn in it: a picture would otherwise show both. */
export async function changeTheme(page: Page, theme: Look['theme']): Promise<void> {
  await page.emulateMedia({ colorScheme: theme })
  await page.evaluate(
    (isDark) =>
      new Promise<void>((resolve) => {
        const query = matchMedia('(prefers-color-scheme: dark)')
        const drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))
        if (query.matches === isDark) drawn()
        else query.addEventListener('change', drawn, { once: true })
      }),
    theme === 'dark',
  )
}

/** How a complaint begins that the browser failed to load something; the rest is its path. */
export const FAILED_LOAD = 'failed to load '

/** A page; what the browser refuses, or logs as an error or a warning, is kept. */
export async function openPage(context: BrowserContext): Promise<{
  readonly page: Page
  readonly complaints: string[]
}> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const isLoad = message.text().startsWith('Failed to load resource')
    const { pathname } = new URL(message.location().url, 'http://unknown')
    complaints.push(isLoad ? `${FAILED_LOAD}${pathname}` : message.text())
  })
  return { page, complaints }
}

const ALL_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
// Rules about colours alone.
const COLOR_RULES = ['color-contrast', 'link-in-text-block']
// Where one of them says yes, these are asked.
const COLOR_LOOKS = ['isHardToRead', 'hasLinkLikeText', 'hasStrayText'] as const
// Rules about sizes and places alone.
const LAYOUT_RULES = ['target-size', 'scrollable-region-focusable']
const NO_MISFITS = { over: 0, cut: [] }

/** Nothing on the page is too wide, or breaks WCAG 2.2 AA or axe's best practice. */
export async function expectGoodPage(page: Page): Promise<void> {
  const looks = await lookAt(page, 'misfits', 'isHardToReach', ...COLOR_LOOKS)
  expect(looks.misfits).toEqual(NO_MISFITS)
  const needless = [
    ...(looks.isHardToReach ? [] : LAYOUT_RULES),
    ...(COLOR_LOOKS.some((name) => looks[name]) ? [] : COLOR_RULES),
  ]
  expect(await violationsOf(page, ALL_RULES, needless)).toEqual([])
}

/** As {@link expectGoodPage}, of a page that has its colours from one that was good. */
export async function expectUsable(page: Page): Promise<void> {
  const looks = await lookAt(page, 'misfits', 'isHardToReach')
  expect(looks.misfits).toEqual(NO_MISFITS)
  const needless = [...COLOR_RULES, ...(looks.isHardToReach ? [] : LAYOUT_RULES)]
  expect(await violationsOf(page, ALL_RULES, needless)).toEqual([])
}

/** A page that was good in one theme can be read in the other. */
export async function expectReadable(page: Page): Promise<void> {
  const looks = await lookAt(page, ...COLOR_LOOKS)
  if (COLOR_LOOKS.some((name) => looks[name]))
    expect(await violationsOf(page, COLOR_RULES)).toEqual([])
}

/** A page that was good in one window fits a narrower one, and can be used there. */
export async function expectFitsIn(page: Page, width: Width): Promise<void> {
  await page.setViewportSize(SIZES[width])
  const looks = await lookAt(page, 'settled', 'misfits', 'isHardToReach')
  expect(looks.misfits).toEqual(NO_MISFITS)
  if (looks.isHardToReach) expect(await violationsOf(page, LAYOUT_RULES)).toEqual([])
}

/** By position: the page, the rules by their tags or names, and the names of those that are left out. */
async function violationsOf(
  page: Page,
  runOnly: readonly string[],
  leftOut: readonly string[] = [],
): Promise<readonly string[]> {
  const rules = Object.fromEntries(leftOut.map((name) => [name, { enabled: false }]))
  const look = () =>
    page.evaluate(
      async (options) => {
        const inPage = globalThis as unknown as InPage
        if (inPage.axe === undefined) return null
        const found = await inPage.axe.run(document, { ...options, resultTypes: ['violations'] })
        return found.violations.map(({ id, nodes }) => {
          const texts = nodes.map(
            ({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary})`,
          )
          return `${id}: ${texts.join('\n  ')}`
        })
      },
      { runOnly: [...runOnly], rules },
    )
  const violations = await look()
  if (violations !== null) return violations
  // The policy of the page lets no script in that is not its own; the debugger may.
  await page.evaluate(AXE)
  return (await look()) ?? ['axe did not start']
}

/** Nothing is wider than the window, and no card narrower than what it shows: it would cut off columns. */
export async function expectFits(page: Page): Promise<void> {
  const { misfits } = await lookAt(page, 'misfits')
  expect(misfits).toEqual(NO_MISFITS)
}

/** Copies by the button of this label, and waits until it says so: for 1.6 s, which is over before a late wait begins. */
export async function copyBy(page: Page, label: string): Promise<void> {
  await Promise.all([
    page.getByRole('button', { name: 'Copied' }).waitFor(),
    page.getByRole('button', { name: label }).click(),
  ])
}

/** Types a message into the Playground and sends it by keys, which do nothing before the models are known. */
export async function sendByKeys(page: Page, message: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(message)
  await page.getByRole('button', { name: 'Send', exact: true, disabled: false }).waitFor()
  await page.keyboard.press('Control+Enter')
}

/** Writes a picture of the whole page, where pictures are asked for: the window is made as high as what scrolls in it. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.evaluate(() => document.fonts.ready)
  const window = page.viewportSize()
  if (window === null) throw new Error('the window has no size')
  const height = await page.evaluate(() => {
    const layers = document.querySelectorAll('dialog[open], [popover]:popover-open, .drawer')
    const hidden = [...layers].map(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)
    return Math.max(document.documentElement.scrollHeight, innerHeight + Math.max(0, ...hidden))
  })
  if (height > window.height) await setSize(page, { ...window, height })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
  await setSize(page, window)
}
