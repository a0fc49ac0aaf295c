import type { Page } from 'playwright-core'

/** The least width and height of a target. */
export const PIXELS_MIN = { phone: 40, desk: 24 } as const

/** Buttons, fields and links that are too small, apart from words of a text and names in a table. */
export function smallTargets(page: Page, pixelsMin: number): Promise<readonly string[]> {
  return page.evaluate((leastPixels) => {
    const all = document.querySelectorAll<HTMLElement>(
      'button, a, summary, select, input:not([type=checkbox], [type=radio], [type=range], .vh)',
    )
    return [...all].flatMap((element) => {
      // Its label is touched as well as the field itself.
      const target = element.closest<HTMLElement>('label.find') ?? element
      const { height, width } = target.getBoundingClientRect()
      const isText = getComputedStyle(element).display === 'inline' || element.closest('p, td')
      const isHidden = width < 2 || element.matches('.skip')
      if (isText || isHidden || Math.min(height, width) > leastPixels - 0.5) return []
      const size = `${Math.round(width)} x ${Math.round(height)}`
      return [`${element.className} ${element.textContent} ${size}`]
    })
  }, pixelsMin)
}
