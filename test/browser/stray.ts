interface Part {
  readonly element: Element
  /** The boxes that cut off its texts. */
  readonly clips: readonly DOMRect[]
  /** Its boxes, if it paints; empty: it does not. */
  readonly rects: readonly DOMRect[]
  readonly isShown: boolean
  readonly isSolid: boolean
  readonly isFixed: boolean
  readonly isScroller: boolean
}

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * Whether axe could find a text before something else than what its elements paint: a painted part that doesn't hold the
 * text lies where it is, or one that holds it doesn't reach there. Like axe it goes by places alone: what is outside the
 * window counts, and what is above what does not. Where it says yes, axe decides. Runs in the page, beside
 * {@link STRAY_HELPERS}.
 */
export function hasStrayText(): boolean {
  const ROW_PIXELS = 100
  const parts = new Map<Element | null, Part>()
  const paintedByRow = new Map<number, Part[]>()
  const rowOf = (y: number) => Math.floor(y / ROW_PIXELS)
  for (const element of [document.body, ...document.body.querySelectorAll('*')]) {
    const part = partOf(element, parts.get(element.parentElement))
    parts.set(element, part)
    const rows = part.rects.flatMap(({ top, bottom }) => {
      const first = rowOf(top)
      return Array.from({ length: rowOf(bottom) - first + 1 }, (_, index) => first + index)
    })
    for (const row of new Set(rows)) {
      const inRow = paintedByRow.get(row)
      if (inRow === undefined) paintedByRow.set(row, [part])
      else inRow.push(part)
    }
  }
  /** Whether a painted part that holds this one doesn't reach a point of it. */
  const isOutOf = (part: Part, point: Point) => {
    let place: Point | null = point
    for (let at: Part | undefined = part; at !== undefined; ) {
      if (at.rects.length > 0) {
        if (place === null || !isAt(at, place)) return true
        if (at.isSolid) return false
      }
      // What a part shows that scrolls is before what holds that part, and what is fixed before the page alone.
      if (at.isScroller) place = middleOf(at.element.getBoundingClientRect(), [])
      const over = parts.get(at.element.parentElement)
      if (at.isFixed && over?.isFixed !== true) place = null
      at = over
    }
    return false
  }
  // Below what paints itself nothing else is seen. What is fixed and what is not axe never compares.
  const isOn = (part: Part, point: Point) =>
    !(part.rects.length > 0 && part.isSolid) &&
    (paintedByRow.get(rowOf(point.y)) ?? []).some(
      (other) =>
        other.isFixed === part.isFixed &&
        isAt(other, point) &&
        !other.element.contains(part.element) &&
        !(part.isScroller && part.element.contains(other.element)),
    )
  return [...parts.values()].some((part) =>
    boxesOf(part).some((box) => {
      const point = middleOf(box, part.clips)
      return point !== null && (isOutOf(part, point) || isOn(part, point))
    }),
  )
}

/** Functions that {@link hasStrayText} calls. */
export const STRAY_HELPERS = [partOf, boxesOf, middleOf, isAt] as const

function partOf(element: Element, over: Part | undefined): Part {
  const style = getComputedStyle(element)
  const { backgroundColor: color, overflow, overflowX, overflowY, position } = style
  // The second is how a text is kept for screen readers alone.
  const isShown = style.visibility === 'visible' && style.clipPath !== 'inset(50%)'
  const isClear = !isShown || /^rgba\(.*, 0\)$|\/ 0\)$/.test(color)
  const clips = over?.clips ?? []
  const { scrollWidth, scrollHeight, clientWidth, clientHeight } = element
  return {
    element,
    clips: overflow === 'hidden' ? [...clips, element.getBoundingClientRect()] : clips,
    // The colour of the body is behind the whole page.
    rects: isClear || element === document.body ? [] : [...element.getClientRects()],
    isShown,
    isSolid: /^rgb\(|^color\([^/]+\)$/.test(color),
    isFixed: position === 'fixed' || over?.isFixed === true,
    isScroller:
      /auto|scroll/.test(overflowX + overflowY) &&
      (scrollWidth > clientWidth || scrollHeight > clientHeight),
  }
}

/** The lines of its own texts. As axe has it, a field is where its box is, and so is a text that its box doesn't hold. */
function boxesOf({ element, isShown, isScroller }: Part): readonly DOMRect[] {
  if (!isShown) return []
  const texts = [...element.childNodes].filter(
    ({ nodeType, nodeValue }) => nodeType === Node.TEXT_NODE && /\S/.test(nodeValue ?? ''),
  )
  const isWhole = isScroller || element.matches('input, select, textarea')
  if (texts.length === 0 && !isWhole) return []
  const whole = element.getBoundingClientRect()
  const range = document.createRange()
  const boxes = texts.flatMap((text) => {
    range.selectNodeContents(text)
    return [...range.getClientRects()].filter(({ width, height }) => width >= 1 && height >= 1)
  })
  const isInside = boxes.every(({ left, right, top, bottom }) => {
    const [x, y] = [(left + right) / 2, (top + bottom) / 2]
    return x >= whole.left && x <= whole.right && y >= whole.top && y <= whole.bottom
  })
  return isWhole || !isInside ? [...boxes, whole] : boxes
}

/** The middle of what is left of a box, in whole pixels as axe has it; null: nothing is. */
function middleOf(box: DOMRect, clips: readonly DOMRect[]): Point | null {
  const left = Math.max(box.left, ...clips.map((clip) => clip.left))
  const top = Math.max(box.top, ...clips.map((clip) => clip.top))
  const right = Math.min(box.right, ...clips.map((clip) => clip.right))
  const bottom = Math.min(box.bottom, ...clips.map((clip) => clip.bottom))
  if (left >= right || top >= bottom) return null
  return { x: Math.floor((left + right) / 2), y: Math.floor((top + bottom) / 2) }
}

function isAt({ rects }: Part, { x, y }: Point): boolean {
  return rects.some(
    ({ left, top, right, bottom }) =>
      x >= Math.floor(left) &&
      x < Math.floor(right) &&
      y >= Math.floor(top) &&
      y < Math.floor(bottom),
  )
}
