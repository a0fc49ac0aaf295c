import { useState } from 'react'

/** Things that were just made, each with a secret that is shown only once. The newest is first. */
export interface Made<Thing> {
  readonly things: readonly Thing[]
  /** Shows one more, above the others. */
  readonly add: (thing: Thing) => void
  /** No longer shows those that match. */
  readonly end: (isEnded: (thing: Thing) => boolean) => void
}

/** Only in the memory of this page, until it is left. */
export function useMade<Thing>(): Made<Thing> {
  const [things, setThings] = useState<readonly Thing[]>([])
  return {
    things,
    add: (thing) => setThings((shown) => [thing, ...shown]),
    end: (isEnded) => setThings((shown) => shown.filter((thing) => !isEnded(thing))),
  }
}
