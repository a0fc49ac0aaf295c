import { addsUpInCents } from '../format/money.ts'

interface RoundedNoteProps {
  /** The amounts of each column, and their sum; null: one is not known. */
  readonly columns: readonly {
    readonly parts: readonly (number | null)[]
    readonly sum: number | null
  }[]
}

/** Says below a table why its rounded amounts do not add up to a rounded sum. Nothing where they do. */
export function RoundedNote({ columns }: RoundedNoteProps) {
  const isOff = columns.some(({ parts, sum }) => {
    const known = parts.filter((part) => part !== null)
    return sum !== null && known.length === parts.length && !addsUpInCents(known, sum)
  })
  if (!isOff) return null
  return (
    <p className="pager">
      Amounts are rounded to cents. Sums are computed from the exact amounts, which are in the CSV.
    </p>
  )
}
