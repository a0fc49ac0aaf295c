/** Rows under headings, as aligned columns; cells that are numbers stand to the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = rows.map((row) => row.map(String))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => (row[column] ?? '').length)),
  )
  const rightAligned = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  )
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        rightAligned[column] === true
          ? cell.padStart(widths[column] ?? 0)
          : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(headings), ...cells.map(line)].join('\n')
}

/** A moment as it stands in a table; a dash where there is none. */
export function moment(at: string | number | null): string {
  return at === null ? '-' : new Date(at).toISOString()
}
