import { useState } from 'react'
import { counted } from '../format/numbers.ts'

const ROWS_MAX = 100

interface FirstRows<Row> {
  /** Undefined: the answer has not arrived yet. */
  readonly shown: readonly Row[] | undefined
  /** How many there are in all. */
  readonly total: number
  readonly onAll: () => void
}

/**
 * The first rows of a list that was read whole, until all of them are asked for: drawing hundreds slows every letter of
 * its search. By position: the rows, and how many are shown at first.
 */
export function useFirstRows<Row>(
  rows: readonly Row[] | undefined,
  rowsMax = ROWS_MAX,
): FirstRows<Row> {
  const [isAll, setAll] = useState(false)
  return {
    shown: isAll ? rows : rows?.slice(0, rowsMax),
    total: rows?.length ?? 0,
    onAll: () => setAll(true),
  }
}

/** The end of such a list: how many rows are shown, and the button for the others; nothing if all are. */
export function MoreRows({
  rows,
  noun,
}: {
  readonly rows: FirstRows<unknown>
  readonly noun: string
}) {
  const { shown, total, onAll } = rows
  if (shown === undefined || shown.length === total) return null
  return (
    <footer className="pager">
      <span>The first {counted(shown.length, noun)}</span>
      <button type="button" className="btn" onClick={onAll}>
        Show all {counted(total, noun)}
      </button>
    </footer>
  )
}
