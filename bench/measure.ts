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

/** One line of the result: a figure of each round, and what it has to keep to. */
export interface Measure {
  readonly name: string
  readonly unit: Unit
  /** One of each round. */
  readonly values: readonly number[]
  readonly spread: Spread
  /** The most that the median may be; null: it is shown, and not judged. */
  readonly budget: number | null
}

export interface MeasureInput {
  readonly name: string
  readonly unit: Unit
  readonly values: readonly number[]
  /** Default null. */
  readonly budget?: number | null
}

/** Makes a measure of its rounds. Throws RangeError where there are none. */
export function measure({ name, unit, values, budget = null }: MeasureInput): Measure {
  return { name, unit, values, spread: spreadOf(values), budget }
}

/** Whether the median keeps to the budget; null where there is none. */
export function isMet({ spread, budget }: Measure): boolean | null {
  return budget === null ? null : spread.median <= budget
}
