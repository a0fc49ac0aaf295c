import type { ReactNode } from 'react'

interface FormEndInput {
  /** A problem that belongs to no single field; null: none. */
  readonly problem: ReactNode
  readonly onCancel: () => void
  /** Default: it does something that can be undone. */
  readonly isDanger?: boolean
  readonly isDisabled: boolean
  /** The words of the button that sends the form. */
  readonly children: ReactNode
}

/** How a form in a dialog ends: its problem, and the buttons that leave it and send it. */
export function FormEnd({
  problem,
  onCancel,
  isDanger = false,
  isDisabled,
  children,
}: FormEndInput) {
  return (
    <>
      {problem !== null && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <footer>
        <button type="button" className="btn ghost" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className={isDanger ? 'btn danger' : 'btn pri'} disabled={isDisabled}>
          {children}
        </button>
      </footer>
    </>
  )
}
