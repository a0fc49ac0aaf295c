import fc from 'fast-check'

/** A process that ended between two steps. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

// The number of histories for each store. `CHAIN_HISTORIES=1000` searches ten times as long.
const HISTORIES = Number(process.env['CHAIN_HISTORIES'] ?? 100)

/**
 * Lives through random histories; rejects with the seed of one that fails. So many at a time live side by side, because a
 * history waits for the store most of its time.
 */
export async function liveHistories<Step>(
  history: fc.Arbitrary<Step[]>,
  live: (steps: readonly Step[]) => Promise<void>,
  { sideBySide }: { readonly sideBySide: number },
): Promise<void> {
  const numRuns = Math.ceil(HISTORIES / sideBySide)
  await Promise.all(
    Array.from({ length: sideBySide }, () =>
      fc.assert(fc.asyncProperty(history, live), { numRuns }),
    ),
  )
}

/** The failure of the random histories of one seed, which is always the same: chance plays no part. */
export async function failureOfHistories<Step>(
  history: fc.Arbitrary<Step[]>,
  live: (steps: readonly Step[]) => Promise<unknown>,
): Promise<string> {
  const property = fc.asyncProperty(history, async (steps) => void (await live(steps)))
  const { errorInstance } = await fc.check(property, { numRuns: 500, endOnFailure: true, seed: 1 })
  return String(errorInstance)
}
