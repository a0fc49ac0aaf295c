import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'

const GAP_PX = 6
const EDGE_PX = 12

interface PopoverProps {
  /** The button that opens it. */
  readonly button: (props: ButtonProps) => ReactNode
  /** Its content while it is open. */
  readonly children: (close: () => void) => ReactNode
  readonly label: string
  /** Which edge of the button it is aligned with. */
  readonly align?: 'start' | 'end'
  readonly className?: string
}

interface ButtonProps {
  readonly ref: RefObject<HTMLButtonElement | null>
  readonly popoverTarget: string
  readonly 'aria-expanded': boolean
  readonly 'aria-haspopup': 'dialog'
}

/** A panel next to its button, in the browser's top layer: Esc and a click elsewhere close it. */
export function Popover(props: PopoverProps) {
  const { button, children, label, align = 'start', className } = props
  const id = useId()
  const buttonRef = useRef<HTMLButtonElement>(null)
  const panelRef = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    if (!isOpen || buttonRef.current === null || panelRef.current === null) return
    const [panel, beside] = [panelRef.current, buttonRef.current]
    const placeAgain = () => place(panel, { beside, align })
    placeAgain()
    shown(panel, 'input, button, a')[0]?.focus()
    addEventListener('resize', placeAgain)
    return () => removeEventListener('resize', placeAgain)
  }, [isOpen, align])
  const close = () => {
    panelRef.current?.hidePopover()
    buttonRef.current?.focus()
  }
  return (
    <>
      {button({
        ref: buttonRef,
        popoverTarget: id,
        'aria-expanded': isOpen,
        'aria-haspopup': 'dialog',
      })}
      <div
        ref={panelRef}
        id={id}
        popover="auto"
        role="dialog"
        className={className}
        aria-label={label}
        onKeyDown={moveInMenu}
        onToggle={(event) => setOpen(event.newState === 'open')}
      >
        {isOpen && children(close)}
      </div>
    </>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
const ITEMS = '.menu-find, a.menu-item, button.menu-item, .menu-item input'

/** Arrow keys move through the items of a menu, as Tab does. */
function moveInMenu(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key]
  // A field with matches below it has moved through them.
  if (step === undefined || event.defaultPrevented) return
  const items = shown(event.currentTarget, ITEMS)
  const at = items.indexOf(document.activeElement as HTMLElement)
  if (at === -1) return
  event.preventDefault()
  items[(at + step + items.length) % items.length]?.focus()
}

/** Some items are shown on phones only. */
function shown(panel: HTMLElement, selector: string): readonly HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>(selector)].filter((item) => item.checkVisibility())
}

interface PlaceInput {
  readonly beside: HTMLElement
  readonly align: 'start' | 'end'
}

/** Below the button, or above it where there is more room; never beyond the window. */
function place(panel: HTMLElement, { beside, align }: PlaceInput): void {
  const anchor = beside.getBoundingClientRect()
  const { width, height } = panel.getBoundingClientRect()
  const wanted = align === 'start' ? anchor.left : anchor.right - width
  const left = Math.max(EDGE_PX, Math.min(wanted, window.innerWidth - width - EDGE_PX))
  const below = anchor.bottom + GAP_PX
  const fitsBelow = below + height <= window.innerHeight - EDGE_PX
  const above = anchor.top - GAP_PX - height
  panel.style.left = `${left}px`
  panel.style.top = `${fitsBelow || above < EDGE_PX ? Math.max(EDGE_PX, Math.min(below, window.innerHeight - height - EDGE_PX)) : above}px`
}
