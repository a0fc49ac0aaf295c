/** A stored figure that is not what the rows behind it come to. */
export interface Difference {
  /** The figure, as `table.column`. */
  readonly what: string
  /** The row that has it. */
  readonly id: string
  readonly stored: number | string | null
  readonly recomputed: number | string | null
}
