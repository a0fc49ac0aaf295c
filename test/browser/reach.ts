/**
 * Whether axe could find a target that is too small or covered, or a part that only a mouse scrolls. It takes a few
 * milliseconds, and axe's own look a tenth of a second for each width. Where it says yes, axe decides: it trips on
 * anything smaller than 24 pixels within 24 of another target, where the rule asks for 12. Runs in the page.
 */
export function isHardToReach(): boolean {
  const targets = 'a[href], button, input, select, textarea, summary, [role][tabindex]'
  // What is behind an open dialog can't be reached at all.
  const within = [...document.querySelectorAll('dialog:modal')].at(-1) ?? document.body
  const { scrollHeight } = document.documentElement
  const scrollable = Math.max(0, scrollHeight - innerHeight - scrollY)
  // What stays where it is, below the middle: what comes from under it when the page is scrolled to its end is not covered.
  const bars = [...document.querySelectorAll('*')].filter(
    (element) =>
      getComputedStyle(element).position === 'fixed' &&
      element.getBoundingClientRect().top > innerHeight / 2,
  )
  const boxes = [...within.querySelectorAll(targets)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .flatMap((element) => {
      const downPixels = bars.some((bar) => bar.contains(element)) ? scrollable : 0
      return [...element.getClientRects()].map(({ x, y, width, height }) => ({
        element,
        rect: new DOMRect(x, y + downPixels, width, height),
      }))
    })
  const isHard = boxes.some(({ element, rect: { left, right, top, bottom, width, height } }) =>
    boxes.some(({ element: other, rect }) => {
      if (element.contains(other) || other.contains(element)) return false
      const isCovered =
        left < rect.right && rect.left < right && top < rect.bottom && rect.top < bottom
      if (isCovered || (width >= 24 && height >= 24)) return isCovered
      const x = (left + right) / 2
      const y = (top + bottom) / 2
      const across = Math.max(rect.left - x, 0, x - rect.right)
      const down = Math.max(rect.top - y, 0, y - rect.bottom)
      return Math.hypot(across, down) < 24
    }),
  )
  const isFocusable = (element: Element) =>
    element.matches('[tabindex="0"]') ||
    [...element.querySelectorAll('a[href]:not([tabindex]), button:enabled:not([tabindex])')].some(
      (inner) => inner.checkVisibility({ visibilityProperty: true }),
    )
  return (
    isHard ||
    [...document.body.querySelectorAll('*')].some((element) => {
      const { scrollWidth, scrollHeight, clientWidth, clientHeight } = element
      if (scrollWidth <= clientWidth && scrollHeight <= clientHeight) return false
      const { overflowX, overflowY } = getComputedStyle(element)
      return /auto|scroll/.test(overflowX + overflowY) && !isFocusable(element)
    })
  )
}
