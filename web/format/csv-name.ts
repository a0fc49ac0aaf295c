/** The name of a CSV file, such as `usage-northwind-2026-10-01-to-2026-10-31-by-model.csv`. */
export function csvName({ kind, of, from, to, by }: CsvNameInput): string {
  const first = from.slice(0, 10)
  // The end of a range is exclusive.
  const last = new Date(Date.parse(to) - 1).toISOString().slice(0, 10)
  const days = last > first ? `${first}-to-${last}` : first
  return `${[kind, slugOf(of), days].join('-')}${by === undefined ? '' : `-by-${by}`}.csv`
}

interface CsvNameInput {
  /** "usage". */
  readonly kind: string
  /** The name of the account, or "all accounts". */
  readonly of: string
  /** The moments of the range, RFC 3339 in UTC: its end is exclusive. */
  readonly from: string
  readonly to: string
  /** The grouping. Default: none. */
  readonly by?: string
}

const SLUG_MAX = 40

/** A name without characters that file systems refuse. */
function slugOf(name: string): string {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.join('-').slice(0, SLUG_MAX).replace(/-$/, '') || 'account'
}
