import { useSyncExternalStore } from 'react'

/** Says what was done, with the way back where there is one. */
export interface Toast {
  readonly id: number
  /** "Key disabled." */
  readonly text: string
  /** Takes it back; null: there is no way back. */
  readonly undo: (() => Promise<unknown>) | null
}

let toasts: readonly Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Says what was done. Never of money: that has its own place and words. */
export function showToast(text: string, undo: Toast['undo'] = null): void {
  set([...toasts, { id: nextId++, text, undo }])
}

/** Takes a toast away. */
export function dropToast(id: number): void {
  set(toasts.filter((toast) => toast.id !== id))
}

/** The toasts that are shown, oldest first. */
export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
}
