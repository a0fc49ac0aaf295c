/** The middle and the edges of a set of figures. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** The middle figure; the mean of the two middle ones of an even count. Throws RangeError for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/**
 * The figure below which a share of all lies, 0 to 1, between two neighbours in proportion. Throws
 * RangeError for no figures, or one that is not a number.
 */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('no figures were measured')
  if (values.some(Number.isNaN)) throw new RangeError('a figure is not a number')
  const sorted = values.toSorted((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const below = sorted[Math.floor(place)] ?? 0
  const above = sorted[Math.ceil(place)] ?? 0
  return below + (above - below) * (place - Math.floor(place))
}

/** Median, least and greatest. Throws RangeError for no figures. */
export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/** Two figures of each round, measured one right after the other. */
interface Paired {
  readonly over: readonly number[]
  readonly under: readonly number[]
}

/**
 * Each round's quotient: noise that lasts longer than a round falls out of it. Throws RangeError where
 * the rounds don't pair, or one divides by nothing.
 */
export function pairedRatios({ over, under }: Paired): number[] {
  if (over.length !== under.length) throw new RangeError('rounds do not pair')
  return over.map((value, round) => {
    const divisor = under[round] ?? 0
    if (!(divisor > 0)) throw new RangeError(`round ${round + 1} divides by ${divisor}`)
    return value / divisor
  })
}

/** A point of a measured line. */
export interface Point {
  readonly x: number
  readonly y: number
}

/**
 * How much `y` grows by for each `x`: the median of the slopes between all pairs of points, which one
 * wild point can't tilt. Throws RangeError for fewer than two places on the line.
 */
export function slopeOf(points: readonly Point[]): number {
  const slopes: number[] = []
  for (const [at, first] of points.entries()) {
    for (const second of points.slice(at + 1)) {
      if (second.x !== first.x) slopes.push((second.y - first.y) / (second.x - first.x))
    }
  }
  return median(slopes)
}
