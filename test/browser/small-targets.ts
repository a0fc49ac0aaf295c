import type { Page } from 'playwright-core'

/** The least width and height of a target. */
export const PIXELS_MIN = { phone: 40, desk: 24 } as const

/**
 * Buttons, fields and links that are too small, apart from words of a text and names in a table; chips of states whose
 * colour is all that they have; and tabs whose names are wider than they are.
 */
export function smallOrUnreadable(page: Page, pixelsMin: number): Promise<readonly string[]> {
  return page.evaluate((leastPixels) => {
    const targets = document.querySelectorAll<HTMLElement>(
      'button, a, summary, select, input:not([type=checkbox], [type=radio], [type=range], .vh)',
    )
    const small = [...targets].flatMap((element) => {
      // Its label is touched as well as the field itself.
      const target = element.closest<HTMLElement>('label.find') ?? element
      const { height, width } = target.getBoundingClientRect()
      const isText = getComputedStyle(element).display === 'inline' || element.closest('p, td')
      const isHidden = width < 2 || element.matches('.skip')
      if (isText || isHidden || Math.min(height, width) > leastPixels - 0.5) return []
      const size = `${Math.round(width)} x ${Math.round(height)}`
      return [`${element.className} ${element.textContent} ${size}`]
    })
    const isShown = (part: Element) => part.checkVisibility({ visibilityProperty: true })
    // A word that is for screen readers alone is a pixel wide.
    const hasWords = (part: Element): boolean =>
      isShown(part) &&
      part.getBoundingClientRect().width >= 2 &&
      [...part.childNodes].some((child) =>
        child instanceof Element ? hasWords(child) : /\S/.test(child.nodeValue ?? ''),
      )
    const wordless = [...document.querySelectorAll('.chip')].filter(
      (chip) => isShown(chip) && !hasWords(chip),
    )
    const covered = [...document.querySelectorAll('.tabs a')].filter((tab) => {
      const range = document.createRange()
      range.selectNodeContents(tab)
      return range.getBoundingClientRect().width > tab.getBoundingClientRect().width + 0.5
    })
    const unreadable = [...wordless, ...covered]
    return [...small, ...unreadable.map((each) => `${each.className} ${each.textContent}`)]
  }, pixelsMin)
}
