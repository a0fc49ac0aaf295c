import fc from 'fast-check'
import { expect } from 'vitest'
import { chargeMost } from './charge-most.ts'

const { HOLD_SEARCH_SEED, HOLD_SEARCH_BODIES } = process.env

/** The seed of a run's searches, which print it: a seed in `HOLD_SEARCH_SEED` runs the same searches again. */
export const seed = HOLD_SEARCH_SEED === undefined ? Date.now() % 2 ** 31 : Number(HOLD_SEARCH_SEED)

/** How many bodies a search tries. By position: its own number, unless `HOLD_SEARCH_BODIES` has one. */
export const bodiesOf = (usual: number) => Number(HOLD_SEARCH_BODIES ?? usual)

/** How many bodies were charged, and how many refused. */
export interface Tally {
  charged: number
  refused: number
}

/** Counts a body, and fails at a charge above its hold. Returns whether it was charged. */
export function countBody(tally: Tally, input: Parameters<typeof chargeMost>[0]): boolean {
  const { heldMicros, chargeMicros } = chargeMost(input)
  if (heldMicros === null || chargeMicros === null) {
    tally.refused += 1
    return false
  }
  tally.charged += 1
  expect(chargeMicros).toBeLessThanOrEqual(heldMicros)
  return true
}

/** A search proves something only if it finds planted faults: fails unless one of so many bodies breaks the property. */
export function expectFound<Input>(property: fc.IProperty<Input>, numRuns: number): void {
  const { failed } = fc.check(property, { seed, numRuns, endOnFailure: true })
  expect(failed, `seed ${seed}`).toBe(true)
}
