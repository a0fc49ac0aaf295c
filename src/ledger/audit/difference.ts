/** A stored figure that differs from the rows behind it. */
export interface Difference {
  /** The figure, as `table.column`. */
  readonly what: string
  /** The ID of the row that has the figure. */
  readonly id: string
  readonly stored: number | string | null
  readonly recomputed: number | string | null
}

/** A column, with its stored value and the one that was recomputed. */
export type Figure = readonly [
  what: string,
  stored: Difference['stored'],
  recomputed: Difference['recomputed'],
]

/** The figures of a row that differ. */
export function differencesOf(
  { table, rowId }: { readonly table: string; readonly rowId: string },
  figures: readonly Figure[],
): Difference[] {
  return figures
    .filter(([, stored, recomputed]) => stored !== recomputed)
    .map(([what, stored, recomputed]) => {
      return { what: `${table}.${what}`, id: rowId, stored, recomputed }
    })
}

/** IDs that other rows name, of rows that do not exist. By position: their table, and the IDs. */
export function orphansOf(table: string, ids: Iterable<string>): Difference[] {
  return [...ids].map((id) => ({ what: `${table}.id`, id, stored: null, recomputed: id }))
}
