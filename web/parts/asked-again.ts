import { useSyncExternalStore } from 'react'
import { onSignInAgain } from '../api/client.ts'

type Answer = (isRight: boolean) => void

let asking: { readonly answered: Promise<boolean>; readonly answer: Answer } | null = null
const listeners = new Set<() => void>()

function set(next: typeof asking): void {
  asking = next
  for (const listener of listeners) listener()
}

// Changes that are sent at once are asked about once.
onSignInAgain(() => {
  if (asking !== null) return asking.answered
  const { promise: answered, resolve } = Promise.withResolvers<boolean>()
  set({
    answered,
    answer(isRight) {
      set(null)
      resolve(isRight)
    },
  })
  return answered
})

/** Where a change waits for the password: ends the wait, by whether it was right. Null: no change waits. */
export function useAskedAgain(): Answer | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => asking?.answer ?? null,
  )
}
