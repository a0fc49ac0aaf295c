import { type ReactNode, useState } from 'react'
import { FindField } from './find-field.tsx'
import { Empty } from './states.tsx'

const FIND_FROM = 20

interface FindInput<Row> {
  /** The fields that are searched: "Name or email". */
  readonly label: string
  /** A row: "member". */
  readonly noun: string
  readonly textOf: (row: Row) => string
}

interface FoundRows<Row> {
  readonly rows: readonly Row[] | undefined
  /** The field, in the head of the card; null: the list is short. */
  readonly header: ReactNode
  /** Says that no row matches; null: nothing was searched for. */
  readonly nothing: ReactNode
}

/** Finds rows of a list that was read whole, once it is too long to look through. */
export function useFindRows<Row>(
  rows: readonly Row[] | undefined,
  { label, noun, textOf }: FindInput<Row>,
): FoundRows<Row> {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const isLong = (rows?.length ?? 0) >= FIND_FROM
  const isSearched = isLong && wanted !== ''
  return {
    rows: isSearched ? rows?.filter((row) => textOf(row).toLowerCase().includes(wanted)) : rows,
    header: isLong ? (
      <header>
        <FindField label={label} value={text} onChange={setText} />
      </header>
    ) : null,
    nothing: isSearched ? (
      <Empty title={`No ${noun} matches “${text.trim()}”.`}>
        <button type="button" className="btn" onClick={() => setText('')}>
          Show all {noun}s
        </button>
      </Empty>
    ) : null,
  }
}
