import { useEffect, useRef } from 'react'

/** Keys to what they do: `j`, `Escape`, or two one after the other, `g o`. */
type Shortcuts = Readonly<Record<string, () => void>>

const FIRST_KEY = 'g'
const SECOND_KEY_MS = 1_200

/** Runs the action of a key, except while a person types or a dialog is open. */
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
      // After a `g`, a letter is the second of two: another part of the page must not take it for one.
      const isSecond = first.key === FIRST_KEY && event.timeStamp - first.atMs < SECOND_KEY_MS
      const name = isSecond ? `${FIRST_KEY} ${event.key}` : event.key
      const action = current.current[name]
      first = { key: isSecond ? '' : event.key, atMs: event.timeStamp }
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
