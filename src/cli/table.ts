/** Rows under headings, as aligned columns; cells that are numbers are aligned to the right. */
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

/** A moment as a table shows it, in whole seconds, UTC; a dash if there is none. */
export function moment(at: string | number | null): string {
  return at === null ? '-' : new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

/** Nouns of the command line's counts. */
const NOUNS = {
  account: { one: 'account', many: 'accounts' },
  command: { one: 'other command', many: 'other commands' },
  commit: { one: 'commit', many: 'commits' },
  code: { one: 'credit code', many: 'credit codes' },
  difference: { one: 'figure differs', many: 'figures differ' },
  entry: { one: 'entry', many: 'entries' },
  apiKey: { one: 'key', many: 'keys' },
  check: { one: 'check failed', many: 'checks failed' },
  imageModel: { one: 'image model', many: 'image models' },
  megabyte: { one: 'MB', many: 'MB' },
  model: { one: 'model', many: 'models' },
  openHold: { one: 'request was in flight', many: 'requests were in flight' },
  payment: { one: 'payment', many: 'payments' },
  paymentDifference: { one: 'payment differs', many: 'payments differ' },
  price: { one: 'price doubted', many: 'prices doubted' },
  purchase: { one: 'purchase', many: 'purchases' },
  request: { one: 'request', many: 'requests' },
  row: { one: 'row', many: 'rows' },
  upstream: { one: 'upstream', many: 'upstreams' },
  skippedRow: { one: 'row skipped', many: 'rows skipped' },
} as const

/** A number and what it counts: `1 key`, `1,204 requests`. */
export function counted(count: number, noun: keyof typeof NOUNS): string {
  const { one, many } = NOUNS[noun]
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/** A whole number as a person reads it: `1,204`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A list of counts: `1 account, 2 keys`. */
export function listed(counts: readonly (readonly [number, keyof typeof NOUNS])[]): string {
  return counts.map(([count, noun]) => counted(count, noun)).join(', ')
}
