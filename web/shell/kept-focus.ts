/** Layers above the page that go away again: the focus returns from them to the page. */
const ABOVE_PAGE = 'dialog, [popover], .toasts'
const ROWS = 'tr, li'
const CONTROLS = 'a[href], button, select, input, summary'

/** Where the focus was in the page, and what was around it. */
interface Place {
  readonly control: HTMLElement
  /** The row of the control, then the rows after it, then those before it, nearest first. */
  readonly rows: readonly Element[]
  /** The cards and the page around it, innermost first. */
  readonly around: readonly HTMLElement[]
}

/**
 * Keeps the focus in the page when what has it goes away by its own button, such as a row that is deleted: the browser
 * would begin at the top of the page again. It goes to the same row, else to the next, else to the card.
 */
export function keepFocus(): void {
  let place: Place | null = null
  let focused: Element | null = null
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return
    focused = target
    if (target.closest(ABOVE_PAGE) === null) place = placeOf(target)
  })
  // A person who presses where there is nothing to focus wants no focus.
  document.addEventListener('pointerup', () => {
    if (document.activeElement === document.body) focused = null
  })
  new MutationObserver(() => {
    if (document.activeElement !== document.body || focused === null || focused.isConnected) return
    focused = null
    if (place !== null) focusNear(place)
  }).observe(document.body, { childList: true, subtree: true })
}

function placeOf(control: HTMLElement): Place {
  const row = control.closest(ROWS)
  const siblings = [...(row?.parentElement?.children ?? [])]
  const at = row === null ? 0 : siblings.indexOf(row)
  const around: HTMLElement[] = []
  for (
    let card = control.closest<HTMLElement>('section, main');
    card !== null;
    card = card.parentElement?.closest<HTMLElement>('section, main') ?? null
  ) {
    around.push(card)
  }
  return { control, rows: [...siblings.slice(at), ...siblings.slice(0, at).reverse()], around }
}

function focusNear({ control, rows, around }: Place): void {
  const row = rows.find((each) => each.isConnected)
  const inRow = [...(row?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])].findLast(canHaveFocus)
  const box = row instanceof HTMLElement ? row : around.find((each) => each.isConnected)
  if (canHaveFocus(control)) control.focus()
  else if (inRow !== undefined) inRow.focus()
  else if (box !== undefined) focusBox(box)
}

/** Focuses what has no control: a row, a card or the page. */
function focusBox(box: HTMLElement): void {
  if (!box.hasAttribute('tabindex')) {
    box.tabIndex = -1
    box.addEventListener('blur', () => box.removeAttribute('tabindex'), { once: true })
  }
  box.focus()
}

function canHaveFocus(control: HTMLElement): boolean {
  return control.isConnected && control.checkVisibility() && !control.matches(':disabled')
}
