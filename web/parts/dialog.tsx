import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef, useState } from 'react'
import { useSessionEnded } from './session-end.ts'
import { SignInElsewhere } from './sign-in-elsewhere.tsx'
import { useUnsaved } from './unsaved.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Wide enough for lines of code. Default: no. */
  readonly isWide?: boolean
  /** Whether Esc asks before typed text is lost. Default: no. */
  readonly keepsTyped?: boolean
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
export function Dialog(props: DialogProps) {
  const { title, onClose, isWide = false, keepsTyped = false, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const isPressedBeside = useRef(false)
  const isTyped = useRef(false)
  // Each question has a separate element: the one before, which Esc has closed, may still be waiting for its event.
  const [question, setQuestion] = useState<number | null>(null)
  const questions = useRef(0)
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
  const askFirst = (event: SyntheticEvent): void => {
    if (!keepsTyped || !isTyped.current) return
    event.preventDefault()
    questions.current++
    setQuestion(questions.current)
  }
  return (
    <>
      <dialog
        ref={ref}
        className={isWide ? 'wide' : ''}
        aria-labelledby={titleId}
        onClose={onClose}
        onCancel={askFirst}
        onKeyDown={(event) => {
          // A browser lets a second Esc close it without `cancel`, unless there was a click or a key in between.
          const isPopoverOpen = ref.current?.querySelector(':popover-open') !== null
          if (event.key === 'Escape' && !event.defaultPrevented && !isPopoverOpen) askFirst(event)
        }}
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
      {question !== null && (
        <AskDiscard
          key={question}
          onDiscard={onClose}
          onClose={() => setQuestion((shown) => (shown === question ? null : shown))}
        />
      )}
    </>
  )
}

interface AskDiscardProps {
  readonly onDiscard: () => void
  readonly onClose: () => void
}

/** Asks before typed text is lost. */
function AskDiscard({ onDiscard, onClose }: AskDiscardProps) {
  return (
    <Dialog title="Discard what you typed?" onClose={onClose}>
      <footer>
        <button type="button" className="btn ghost" onClick={onClose}>
          Keep editing
        </button>
        <button type="button" className="btn danger" onClick={onDiscard}>
          Discard
        </button>
      </footer>
    </Dialog>
  )
}
