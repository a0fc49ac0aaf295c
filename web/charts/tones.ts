/** The colours of series, by their place; {@link OTHERS_TONE} is for all others. */
const TONES = [1, 2, 3, 4, 6] as const

/** The colour of all groups that have no series. */
export const OTHERS_TONE = 5

// In the memory of the tab: for each grouping, the colours of the series that were drawn last.
const drawn = new Map<string, ReadonlyMap<string, number>>()

/**
 * The colours of the series of a grouping, such as `model`, by their IDs. What was drawn before keeps its colour, also in
 * another range, where it may be the second largest instead of the largest; others get the colours that are free.
 */
export function tonesOf(grouping: string, ids: readonly string[]): ReadonlyMap<string, number> {
  const before = drawn.get(grouping)
  const kept = ids.map((id) => [id, before?.get(id)] as const)
  const free = TONES.filter((tone) => kept.every(([, one]) => one !== tone))
  const tones = new Map(kept.map(([id, tone]) => [id, tone ?? free.shift() ?? OTHERS_TONE]))
  drawn.set(grouping, tones)
  return tones
}
