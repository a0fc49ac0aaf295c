import { type Spread, spreadOf } from './statistics.ts'

/** The unit of a figure. `x` is a quotient of two figures of the same round. */
export type Unit =
  | 'x'
  | 'µs'
  | 'ms'
  | 'MB'
  | 'B'
  | 'per second'
  | 'of a core'
  | 'streams'
  | 'answers'

/** One line of the result: a figure of each round, and its budget. */
export interface Measure {
  readonly name: string
  readonly unit: Unit
  /** One of each round. */
  readonly values: readonly number[]
  readonly spread: Spread
  /** The most that the median may be; null: it is shown, and not judged. */
  readonly budget: number | null
}

/** Makes a measure of its rounds, by default without a budget. Throws RangeError where there are none. */
export function measure({
  budget = null,
  ...input
}: Omit<Measure, 'spread' | 'budget'> & Partial<Pick<Measure, 'budget'>>): Measure {
  return { ...input, spread: spreadOf(input.values), budget }
}

/** A measure in short: its name, unit, figures of each round, and budget. */
export type MeasureRow = readonly [
  name: string,
  unit: Unit,
  values: readonly number[],
  budget?: number | null | undefined,
]

/** Makes a measure of each row. Throws RangeError where one has no figures. */
export function measuresOf(rows: readonly MeasureRow[]): Measure[] {
  return rows.map(([name, unit, values, budget = null]) => measure({ name, unit, values, budget }))
}

/** Whether the median keeps to the budget; null where there is none. */
export function isMet({ spread, budget }: Measure): boolean | null {
  return budget === null ? null : spread.median <= budget
}
