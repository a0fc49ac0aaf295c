/** An event at a step of a line, in a few letters. */
export interface Mark {
  /** The index of its step. */
  readonly at: number
  readonly text: string
  /** How much of the step's value came with it, at once. */
  readonly rise: number
}

/** A place on a line: the index of a step, and a value. */
export interface LinePoint {
  readonly at: number
  readonly value: number | null
}

/** The points of a line in order. A mark has two, so that the line rises upright there instead of over the whole step before. */
export function linePoints(
  values: readonly (number | null)[],
  marks: readonly Mark[],
): readonly LinePoint[] {
  const rises = new Map(marks.map(({ at, rise }) => [at, rise]))
  return values.flatMap((value, at) => {
    const rise = rises.get(at)
    const point = { at, value }
    return value === null || rise === undefined ? [point] : [{ at, value: value - rise }, point]
  })
}
