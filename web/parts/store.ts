import { useLayoutEffect, useState, useSyncExternalStore } from 'react'

/** A value that {@link createStore} has made. */
export type Store<Value> = ReturnType<typeof createStore<Value>>

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

/**
 * Lists a part of the page for as long as it is shown and listed. The first of the list speaks for all. By position: the list,
 * and whether this part is in it.
 */
export function useListed(list: Store<readonly symbol[]>, isListed = true) {
  const [own] = useState(() => Symbol('part'))
  useLayoutEffect(() => {
    if (!isListed) return
    list.set([...list.get(), own])
    return () => list.set(list.get().filter((each) => each !== own))
  }, [list, own, isListed])
  const all = list.useValue()
  return { isFirst: all[0] === own, count: all.length }
}
