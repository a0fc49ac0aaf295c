import { brokenAt, charactersOf, shownWidth, withoutTurns } from './shown-width.ts'

/** A list for a terminal of so many columns; null: for a pipe or a file, where nothing is cut. */
export type FittingTable = (columnsMax: number | null) => string

type Rows = readonly (readonly (string | number)[])[]

const GAP = '  '

/** Narrower, a name says little. */
export const CUT_WIDTH_MIN = 12

/** Rows under headings, as aligned columns; cells that are numbers are aligned to the right. */
export function table(headings: readonly string[], rows: Rows): string {
  return fittingTable(headings, rows, {})(null)
}

/**
 * Rows under headings for a terminal. `cut`: the headings of columns of free text, each with the width that it keeps; their longest
 * cells are cut so that a row fits. A row that can't fit loses the columns in which no row has a value, and continues on
 * an indented line, between two columns.
 */
export function fittingTable(
  headings: readonly string[],
  rows: Rows,
  cut: Readonly<Record<string, number>>,
): FittingTable {
  // The terminal writes escapes, which are longer: columns are measured with them.
  const cells = rows.map((row) => row.map((cell) => withoutTurns(String(cell))))
  const rightAligned = headings.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  )
  return (columnsMax) => {
    const widthOf = columnsMax === null ? (text: string) => text.length : shownWidth
    const natural = headings.map((heading, column) =>
      Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[column] ?? ''))),
    )
    const kept = headings.map((heading, column) => {
      const width = natural[column] ?? 0
      const least = cut[heading]
      return least === undefined ? width : Math.min(width, Math.max(widthOf(heading), least))
    })
    const all = [...headings.keys()]
    const lines =
      columnsMax === null
        ? [all]
        : linesOf(all, {
            kept,
            columnsMax,
            hasValues: (column) => cells.some((row) => hasValue(row[column])),
          })
    const widths = columnsMax === null ? natural : narrowed(natural, { kept, columnsMax, lines })
    const cellOf = (text: string, column: number): string => {
      const width = widths[column] ?? 0
      const shown = columnsMax === null ? text : fittedTo(width, text)
      const spaces = ' '.repeat(width - widthOf(shown))
      return rightAligned[column] === true ? spaces + shown : shown + spaces
    }
    const shownRow = (row: readonly string[]): string =>
      lines
        .filter((columns, place) => place === 0 || columns.some((column) => hasValue(row[column])))
        .map((columns) => columns.map((column) => cellOf(row[column] ?? '', column)).join(GAP))
        .map((line) => line.trimEnd())
        .join(`\n${GAP}`)
    return [headings, ...cells].map(shownRow).join('\n')
  }
}

function hasValue(cell: string | undefined): boolean {
  return cell !== undefined && cell !== '' && cell !== '-'
}

/** The columns of each line of a row, as many as fit. Later lines are indented. */
function linesOf(
  columns: readonly number[],
  {
    kept,
    columnsMax,
    hasValues,
  }: {
    readonly kept: readonly number[]
    readonly columnsMax: number
    readonly hasValues: (column: number) => boolean
  },
): readonly (readonly number[])[] {
  if (lineWidth(columns, kept) <= columnsMax) return [columns]
  const lines: number[][] = []
  for (const column of columns.filter(hasValues)) {
    const line = lines.at(-1)
    const indent = lines.length > 1 ? GAP.length : 0
    const fitsLine = line !== undefined && lineWidth([...line, column], kept) + indent <= columnsMax
    if (fitsLine) line.push(column)
    else lines.push([column])
  }
  return lines
}

function lineWidth(columns: readonly number[], widths: readonly number[]): number {
  return sumOf(columns.map((column) => (widths[column] ?? 0) + GAP.length)) - GAP.length
}

/** Narrower, a sentence is no easier to read than one that the terminal breaks. */
const SENTENCE_WIDTH_MIN = 24

/** The same for rows that end with a sentence, which is broken between words to fit the terminal. */
export function sentenceTable(headings: readonly string[], rows: Rows): FittingTable {
  return (columnsMax) => {
    const last = headings.length - 1
    const before = headings
      .slice(0, last)
      .map((heading, column) =>
        Math.max(heading.length, ...rows.map((row) => shownWidth(String(row[column] ?? '')))),
      )
    const room = (columnsMax ?? Number.POSITIVE_INFINITY) - sumOf(before) - GAP.length * last
    if (room < SENTENCE_WIDTH_MIN) return table(headings, rows)
    const lines = rows.flatMap((row) =>
      brokenAt(room, String(row[last] ?? '')).map((part, place) => [
        ...before.map((_, column) => (place === 0 ? (row[column] ?? '') : '')),
        part,
      ]),
    )
    return table(headings, lines)
  }
}

/** The widths of columns: in each line the widest is narrowed first, none below its minimum. */
function narrowed(
  natural: readonly number[],
  {
    kept,
    columnsMax,
    lines,
  }: {
    readonly kept: readonly number[]
    readonly columnsMax: number
    readonly lines: readonly (readonly number[])[]
  },
): readonly number[] {
  const widths = [...natural]
  for (const [place, columns] of lines.entries()) {
    const room = columnsMax - (place === 0 ? 0 : GAP.length)
    while (lineWidth(columns, widths) > room) {
      const widest = columns
        .filter((column) => (widths[column] ?? 0) > (kept[column] ?? 0))
        .toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0]
      if (widest === undefined) break
      widths[widest] = (widths[widest] ?? 0) - 1
    }
  }
  return widths
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0)
}

/** The text, cut to a width: the end of a longer one is "…", and an amount is cut whole. */
function fittedTo(width: number, text: string): string {
  if (shownWidth(text) <= width) return text
  let cut = ''
  let left = width - 1
  for (const character of charactersOf(text)) {
    left -= shownWidth(character)
    if (left < 0) break
    cut += character
  }
  // A part of an amount would be another amount.
  return `${cut.replace(/\S*\$[\d.,]*$/, '')}…`
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
  doubtedModel: { one: 'model doubted', many: 'models doubted' },
  payment: { one: 'payment', many: 'payments' },
  paymentDifference: { one: 'payment differs', many: 'payments differ' },
  skippedDeposit: {
    one: 'deposit in a token that is no longer accepted',
    many: 'deposits in tokens that are no longer accepted',
  },
  purchase: { one: 'purchase', many: 'purchases' },
  request: { one: 'request', many: 'requests' },
  row: { one: 'row', many: 'rows' },
  upstream: { one: 'upstream', many: 'upstreams' },
  skippedRow: { one: 'row skipped', many: 'rows skipped' },
} as const

/** A number with its noun: `1 key`, `1,204 requests`. */
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
