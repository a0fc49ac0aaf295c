import { createStore } from './store.ts'

/** Says what was done, with the way back where there is one. */
export interface Toast {
  readonly id: number
  /** "Key disabled." */
  readonly text: string
  /** Takes it back; null: there is no way back. */
  readonly undo: (() => Promise<unknown>) | null
}

const toasts = createStore<readonly Toast[]>([])
let nextId = 1

/** Says what was done. Credit has no way back here: it is added or removed by a change of its own, with a reference. */
export function showToast(text: string, undo: Toast['undo'] = null): void {
  toasts.set([...toasts.get(), { id: nextId++, text, undo }])
}

/** Takes a toast away. */
export function dropToast(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id))
}

/** The toasts that are shown, oldest first. */
export const useToasts = toasts.useValue
