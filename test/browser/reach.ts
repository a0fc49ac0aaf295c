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
  // What the scroll of the page doesn't move alone, or not at all.
  const stays = (element: Element | null): boolean => {
    if (element === null || element === document.body) return false
    const { position, overflowY } = getComputedStyle(element)
    const isScroller = /auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight
    return isScroller || /fixed|sticky/.test(position) || stays(element.parentElement)
  }
  const boxes = [...within.querySelectorAll(targets)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }))
    .flatMap((element) => {
      const isInBar = bars.some((bar) => bar.contains(element))
      const moved = bars.length === 0 || isInBar || !stays(element) ? [scrollable] : [scrollable, 0]
      return [...element.getClientRects()].map((rect) => ({ element, rect, isInBar, moved }))
    })
  /** Whether two boxes are too near each other, when the first is this many pixels further down. */
  const isNear = (box: DOMRect, other: DOMRect, downPixels: number) => {
    const { left, right, width, height } = box
    const [top, bottom] = [box.top + downPixels, box.bottom + downPixels]
    const isCovered =
      left < other.right && other.left < right && top < other.bottom && other.top < bottom
    if (isCovered || (width >= 24 && height >= 24)) return isCovered
    const x = (left + right) / 2
    const y = (top + bottom) / 2
    const across = Math.max(other.left - x, 0, x - other.right)
    const down = Math.max(other.top - y, 0, y - other.bottom)
    return Math.hypot(across, down) < 24
  }
  const isHard = boxes.some(({ element, rect, isInBar, moved }) =>
    boxes.some((other) => {
      if (element.contains(other.element) || other.element.contains(element)) return false
      if (isInBar === other.isInBar) return isNear(rect, other.rect, 0)
      return isInBar
        ? other.moved.some((pixels) => isNear(rect, other.rect, pixels))
        : moved.some((pixels) => isNear(rect, other.rect, -pixels))
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
