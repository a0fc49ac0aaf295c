import type { Browser, BrowserContext, Dialog, Page } from 'playwright-core'
import { test as base } from 'vitest'
import {
  type Look,
  loadOnlyShown,
  openBrowser,
  openPage,
  openStillWindow,
  openWindow,
  resizeEmpty,
  type Width,
} from './chromium.ts'
import { startStandIn } from './stand-in.ts'

const BLANK = 'about:blank'

interface OpenedPage {
  readonly page: Page
  readonly complaints: string[]
}

/**
 * A test in a browser. Parts that start slowly are shared by all files of a worker: the browser, the
 * made-up server, and a page of each width, in whose memory the compiled scripts stay.
 */
export const test = base
  // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
  .extend('browser', { scope: 'worker' }, async ({}, { onCleanup }): Promise<Browser> => {
    const browser = await openBrowser()
    onCleanup(() => browser.close())
    return browser
  })
  // biome-ignore lint/correctness/noEmptyPattern: as above
  .extend('standIn', { scope: 'worker' }, async ({}, { onCleanup }) => {
    const standIn = await startStandIn()
    onCleanup(() => standIn.close())
    return standIn
  })
  .extend('pages', { scope: 'worker' }, async ({ browser }) => {
    const opened = new Map<Width, Promise<OpenedPage>>()
    return {
      /** The page in a window of this width, in the light theme, with an empty console. */
      async of(width: Width): Promise<OpenedPage> {
        const opening = opened.get(width) ?? openWide(browser, width)
        opened.set(width, opening)
        const { page, complaints } = await opening
        await resizeEmpty(page, width)
        await page.emulateMedia({ colorScheme: 'light' })
        complaints.length = 0
        return { page, complaints }
      },
      /** Leaves the screens that earlier tests have left open: some of them ask the server again and again. */
      async leave(): Promise<void> {
        for (const { page } of await Promise.all(opened.values())) {
          if (page.url() !== BLANK) await forget(page)
        }
      },
    }
  })
  /** The made-up server, which answers as a busy account does until the test says otherwise. */
  .extend('server', async ({ standIn, pages }) => {
    await pages.leave()
    standIn.reset()
    return standIn
  })
  /** The page of a desk, light, in which nothing of an earlier test is left. */
  .extend('page', async ({ pages, server: _ }): Promise<Page> => (await pages.of('desk')).page)
  /** A page in its own window, for a test that reads its storage or changes how it loads. It takes twice as long. */
  .extend('ownPage', async ({ browser, server: _ }, { onCleanup }): Promise<Page> => {
    const window = await openStillWindow(browser, { width: 'desk', theme: 'light' })
    onCleanup(() => window.close())
    await loadOnlyShown(window)
    return (await openPage(window)).page
  })
  /** Opens a page in a browser of its own, without a session, by default light and of a desk. It closes after the test. */
  .extend('newPage', async ({ browser }, { onCleanup }) => {
    const windows: BrowserContext[] = []
    onCleanup(async () => {
      for (const window of windows) await window.close()
    })
    return async (look: Partial<Look> = {}): Promise<Page> => {
      const window = await openWindow(browser, { width: 'desk', theme: 'light', ...look })
      windows.push(window)
      await loadOnlyShown(window)
      return window.newPage()
    }
  })

async function openWide(browser: Browser, width: Width): Promise<OpenedPage> {
  const window = await openStillWindow(browser, { width, theme: 'light' })
  await loadOnlyShown(window)
  return openPage(window)
}

/** Empties the storage of a page, and leaves it. */
async function forget(page: Page): Promise<void> {
  if (page.url().startsWith('http')) {
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
  }
  // Some screens ask before they are left.
  const accept = (dialog: Dialog) => void dialog.accept()
  page.on('dialog', accept)
  await page.goto(BLANK)
  page.off('dialog', accept)
  await page.context().clearCookies()
}
