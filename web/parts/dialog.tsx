import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useSessionEnded } from './session-end.ts'
import { SignInElsewhere } from './sign-in-elsewhere.tsx'
import { useUnsaved } from './unsaved.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Wide enough for lines of code. Default: no. */
  readonly isWide?: boolean
  readonly children: ReactNode
}

/** The end of a dialog in which there is nothing to send. */
export function CloseFooter() {
  return (
    <footer>
      <form method="dialog" className="contents">
        <button type="submit" className="btn">
          Close
        </button>
      </form>
    </footer>
  )
}

/**
 * A modal: the browser's own, so that focus stays in it, Esc closes it and focus returns. A click beside it closes it too, as long
 * as nothing was typed.
 */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const isPressedBeside = useRef(false)
  const isTyped = useRef(false)
  const isSignedOut = useSessionEnded()
  useUnsaved(true)
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    if (dialog?.open === false) dialog.showModal()
    // It leaves the tree without being closed, and the browser gives focus back only at a close.
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc does the same as a click outside of the dialog
    <dialog
      ref={ref}
      className={isWide ? 'wide' : ''}
      aria-labelledby={titleId}
      onClose={onClose}
      onInput={() => {
        isTyped.current = true
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === ref.current
      }}
      onClick={(event) => {
        // Not where a text selection in a field ends outside of the dialog, nor once something was typed.
        const isBeside = isPressedBeside.current && event.target === ref.current
        if (isBeside && !isTyped.current) ref.current?.close()
      }}
    >
      <div className="panel">
        <h2 id={titleId}>{title}</h2>
        {isSignedOut && (
          <div className="problem" role="alert">
            <p>You are signed out.</p>
            <SignInElsewhere />
          </div>
        )}
        {children}
      </div>
    </dialog>
  )
}
