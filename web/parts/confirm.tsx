import type { ReactNode } from 'react'
import { Dialog } from './dialog.tsx'

interface ConfirmProps {
  readonly title: string
  readonly submit: string
  /** The words of the button that leaves it. Default: Cancel. */
  readonly cancel?: string
  /** The consequences. */
  readonly children: ReactNode
  readonly isDangerous?: boolean
  /** Whether it can be confirmed yet. */
  readonly isReady?: boolean
  readonly error: Error | null
  readonly isSending: boolean
  readonly onSubmit: () => void
  readonly onClose: () => void
}

/** Says what will happen, and asks. */
export function Confirm(props: ConfirmProps) {
  const { title, submit, children, isDangerous = false, isReady = true, error, isSending } = props
  const { cancel = 'Cancel' } = props
  return (
    <Dialog title={title} onClose={props.onClose}>
      <form
        className="contents"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) props.onSubmit()
        }}
      >
        {children}
        {error !== null && (
          <p className="problem" role="alert">
            {error.message}
          </p>
        )}
        <footer>
          <button type="button" className="btn ghost" onClick={props.onClose}>
            {cancel}
          </button>
          <button
            type="submit"
            className={isDangerous ? 'btn danger' : 'btn pri'}
            disabled={!isReady || isSending}
          >
            {submit}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
