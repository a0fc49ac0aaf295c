/** The colours of series, by their place; {@link OTHERS_TONE} is for all others. */
const TONES = [1, 2, 3, 4, 6] as const

/** The colour of all groups that have no series. */
export const OTHERS_TONE = 5

// In the memory of the tab: for each grouping, the series that have a colour, those that were drawn last at the end.
const drawn = new Map<string, ReadonlyMap<string, number>>()

/**
 * The colours of the series of a grouping, such as `model`, by their IDs. What was drawn before keeps its colour, also in
 * another range, where it may be the second largest instead of the largest, and after a range without it. Others get the
 * colours that no series has yet, then those of the series that were not drawn for the longest time.
 */
export function tonesOf(grouping: string, ids: readonly string[]): ReadonlyMap<string, number> {
  const before = drawn.get(grouping) ?? new Map<string, number>()
  const had = new Set(before.values())
  const absent = [...before].filter(([id]) => !ids.includes(id))
  const free = [...TONES.filter((tone) => !had.has(tone)), ...absent.map(([, tone]) => tone)]
  const tones = new Map(ids.map((id) => [id, before.get(id) ?? free.shift() ?? OTHERS_TONE]))
  const shown = new Set(tones.values())
  drawn.set(
    grouping,
    new Map([
      ...absent.filter(([, tone]) => !shown.has(tone)),
      ...[...tones].filter(([, tone]) => tone !== OTHERS_TONE),
    ]),
  )
  return tones
}
