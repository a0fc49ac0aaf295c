import type { Browser, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectGoodPage, type Look, openPage, openWindow, takePicture } from './chromium.ts'

/** A screen in one of its states. */
export interface Screen {
  readonly name: string
  /** Below `/app/`. */
  readonly path: string
  /** What the server does before the page is opened. */
  readonly before?: () => void
  /** What a person does then. */
  readonly act?: (page: Page) => Promise<void>
  /** What is seen in the end. */
  readonly text: string | RegExp
}

const LOOKS: readonly Look[] = [
  { width: 'desk', theme: 'light' },
  { width: 'desk', theme: 'dark' },
  { width: 'tablet', theme: 'light' },
  { width: 'phone', theme: 'light' },
  { width: 'phone', theme: 'dark' },
]

interface Opened {
  readonly open: () => Browser
  readonly address: () => string
  /** What else holds of each picture. Default: nothing. */
  readonly check?: (page: Page) => Promise<void>
}

/** Tests screens in both themes, on a desk, a tablet and a phone of 360 pixels, and takes their pictures. */
export function testScreens(screens: readonly Screen[], { open, address, check }: Opened): void {
  describe.each(LOOKS)('$width, $theme', (look) => {
    test.each(screens)('$name can be used by everybody and fits its window', async (screen) => {
      const context = await openWindow(open(), look)
      const { page, complaints } = await openPage(context)
      screen.before?.()
      await page.goto(`${address()}/app/${screen.path}`)
      await screen.act?.(page)
      await page.getByText(screen.text).filter({ visible: true }).first().waitFor()
      await takePicture(page, `${screen.name}-${look.width}-${look.theme}`)
      await expectGoodPage(page)
      await check?.(page)
      expect(complaints).toEqual([])
      await context.close()
    })
  })
}

/** No card is narrower than what it shows: it would cut off the last columns of a table. */
export async function expectNothingCut(page: Page): Promise<void> {
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('.card')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map((card) => card.getAttribute('aria-label')),
  )
  expect(cut).toEqual([])
}
