import { useEffect, useRef } from 'react'

/** Keys to what they do: `j`, `Escape`, or two one after the other, `g o`. */
export type Shortcuts = Readonly<Record<string, () => void>>

const SECOND_KEY_MS = 1_200

/** Runs what a key stands for, never while a person types or a dialog is open. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const current = useRef(shortcuts)
  useEffect(() => {
    current.current = shortcuts
  })
  useEffect(() => {
    let first = { key: '', atMs: 0 }
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event.target)) return
      const isSecond = first.key !== '' && event.timeStamp - first.atMs < SECOND_KEY_MS
      const action =
        (isSecond ? current.current[`${first.key} ${event.key}`] : undefined) ??
        current.current[event.key]
      first = { key: event.key, atMs: event.timeStamp }
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open], :popover-open') !== null) return true
  return (
    target instanceof HTMLElement && target.matches('input, select, textarea, [contenteditable]')
  )
}
