import { useSyncExternalStore } from 'react'

/** A value outside of components, in the memory of the tab; what shows it is drawn again when it is set. */
export function createStore<Value>(first: Value) {
  let value = first
  const listeners = new Set<() => void>()
  const get = () => value
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    get,
    set(next: Value): void {
      value = next
      for (const listener of listeners) listener()
    },
    useValue: () => useSyncExternalStore(subscribe, get),
  }
}
