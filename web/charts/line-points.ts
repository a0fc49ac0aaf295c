/** An event at a step of a line, in a few letters. */
export interface Mark {
  /** The index of its step. */
  readonly at: number
  readonly text: string
}

/** A place on a line: the index of a step, and a value. */
export interface LinePoint {
  readonly at: number
  readonly value: number | null
}

/**
 * The points of a line in order. `jumps` has the part of a step's value that came or went at once, by the index of the
 * step. Such a step has two points, so that the line is upright there instead of a slope over the whole step before.
 * The rest of the step's change is drawn before the jump, although it may have come after it: a jump up therefore starts
 * at zero at least, except after a step with a debt, so that no debt is drawn that never was.
 */
export function linePoints(
  values: readonly (number | null)[],
  jumps: ReadonlyMap<number, number>,
): readonly LinePoint[] {
  return values.flatMap((value, at) => {
    const jump = jumps.get(at)
    const point = { at, value }
    if (value === null || jump === undefined) return [point]
    const start = value - jump
    const isDebtBefore = (values[at - 1] ?? 0) < 0
    return [{ at, value: jump > 0 && !isDebtBefore ? Math.max(0, start) : start }, point]
  })
}
