import { useEffect, useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { Prose } from '../parts/prose.tsx'
import { dropToast, showToast, type Toast, useToasts } from '../parts/toast.ts'

const SHOWN_MS = 8_000

/** Confirmations of finished actions, at the edge of the window. */
export function Toasts() {
  const toasts = useToasts()
  return (
    <div className="toasts" role="status">
      {toasts.map((toast) => (
        <ToastLine key={toast.id} toast={toast} />
      ))}
    </div>
  )
}

function ToastLine({ toast: { id, text, undo } }: { toast: Toast }) {
  const [isPaused, setPaused] = useState(false)
  useEffect(() => {
    if (isPaused) return
    const timer = setTimeout(() => dropToast(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [id, isPaused])
  const takeBack = () => {
    dropToast(id)
    undo?.().then(
      () => showToast('Undone.'),
      (error: unknown) => showToast(error instanceof Error ? error.message : String(error)),
    )
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only waits while the user reads it
    <div
      className="toast"
      onPointerEnter={() => setPaused(true)}
      onPointerLeave={() => setPaused(false)}
      onFocus={() => setPaused(true)}
      onBlur={() => setPaused(false)}
    >
      <span>
        <Prose text={text} />
      </span>
      {undo !== null && (
        <button type="button" className="link" onClick={takeBack}>
          Undo
        </button>
      )}
      <button type="button" className="iconb" aria-label="Close" onClick={() => dropToast(id)}>
        <Icon name="close" small />
      </button>
    </div>
  )
}
