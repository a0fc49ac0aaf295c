import { onSignInAgain } from '../api/client.ts'
import { createStore } from './store.ts'

type Answer = (isRight: boolean) => void

interface Asking {
  readonly answered: Promise<boolean>
  readonly answer: Answer
}

const asking = createStore<Asking | null>(null)

// Changes that are sent at once are asked about once.
onSignInAgain(() => {
  const before = asking.get()
  if (before !== null) return before.answered
  const { promise: answered, resolve } = Promise.withResolvers<boolean>()
  asking.set({
    answered,
    answer(isRight) {
      asking.set(null)
      resolve(isRight)
    },
  })
  return answered
})

/** Ends the wait of a change for the password, by whether it was right. Null: no change waits. */
export function useAskedAgain(): Answer | null {
  return asking.useValue()?.answer ?? null
}
