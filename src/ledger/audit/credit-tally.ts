import { PURCHASES } from '../../store/sale-tables.ts'
import { CREDIT_CODES, type Entry } from '../../store/schema.ts'
import type { StoredRow } from '../../store/table.ts'
import { ENTRY_FACTS, type EntryKind } from '../../vocabulary/money.ts'
import { type Difference, differencesOf, type Figure, orphansOf } from './difference.ts'

/** The prefix of the IDs of rows for which credit is posted. */
type Prefix = NonNullable<(typeof ENTRY_FACTS)[EntryKind]['of']>

interface Sum {
  readonly entries: number
  readonly micros: number
}

const NOTHING: Sum = { entries: 0, micros: 0 }

/** The credit that was posted for one row, such as a purchase. */
interface Posted {
  /** The account that got the credit; null: several accounts did. */
  readonly accountId: string | null
  readonly sums: ReadonlyMap<EntryKind, Sum>
}

/** By position: the table; the prefix of the IDs by which entries name its rows, and the figures that follow from them. */
function credited<Row extends { readonly id: string }, Name extends string>(
  table: { readonly name: Name; readonly read: (stored: StoredRow) => Row },
  {
    of,
    figures,
  }: {
    readonly of: Prefix
    /** By position: the row, and the credit that was posted for it; undefined: none. */
    readonly figures: (row: Row, posted: Posted | undefined) => readonly Figure[]
  },
) {
  return {
    table: table.name,
    of,
    audit(stored: StoredRow, posted: Map<string, Posted>): readonly Difference[] {
      const row = table.read(stored)
      const own = posted.get(row.id)
      posted.delete(row.id)
      return differencesOf({ table: table.name, rowId: row.id }, figures(row, own))
    },
  }
}

/** The kinds of rows for which credit is posted. A new kind is a line here, and its entries in `ENTRY_FACTS`. */
export const CREDITED = {
  creditCodes: credited(CREDIT_CODES, {
    of: 'code',
    figures: (row, posted) => [
      [
        'amount_micros',
        row.redeemedBy === null ? 0 : row.amountMicros,
        sumOf(posted, 'activation').micros,
      ],
      ['redeemed_by', row.redeemedBy, posted?.accountId ?? null],
    ],
  }),
  purchases: credited(PURCHASES, {
    of: 'pur',
    figures(row, posted) {
      const isCredited = row.state === 'credited'
      const bought = sumOf(posted, 'purchase')
      const reversed = sumOf(posted, 'reversal')
      return [
        ['state', isCredited ? 1 : 0, bought.entries],
        ['credit_micros', isCredited ? row.creditMicros : 0, bought.micros],
        ['reversals', row.reversals, reversed.entries],
        ['reversed_micros', row.reversedMicros, reversed.micros === 0 ? 0 : -reversed.micros],
        ['account_id', row.accountId, posted === undefined ? row.accountId : posted.accountId],
      ]
    },
  }),
}

/** A kind of row for which credit is posted. */
export type CreditedKind = keyof typeof CREDITED

/** The kinds of rows for which credit is posted. */
export const CREDITED_KINDS = Object.keys(CREDITED) as readonly CreditedKind[]

function sumOf(posted: Posted | undefined, kind: EntryKind): Sum {
  return posted?.sums.get(kind) ?? NOTHING
}

/** Adds up the entries of credit by the rows for which they were posted. */
export class CreditTally {
  readonly #posted = new Map<Prefix, Map<string, Posted>>()

  addEntry({ kind, reference, accountId, amountMicros }: Entry): void {
    const { of } = ENTRY_FACTS[kind]
    if (of === null) return
    const posted = this.#postedOf(of)
    // The reference of a purchase's entry is the ID of the purchase, then a colon and a suffix that makes it unique.
    const rowId = of === 'pur' ? (reference ?? '').replace(/:.*/s, '') : (reference ?? '')
    const before = posted.get(rowId)
    const { entries, micros } = sumOf(before, kind)
    const sum = { entries: entries + 1, micros: micros + amountMicros }
    posted.set(rowId, {
      accountId: before === undefined || before.accountId === accountId ? accountId : null,
      sums: new Map(before?.sums).set(kind, sum),
    })
  }

  /** Compares a row with the credit that was posted for it, and removes it from the tally. */
  audit(kind: CreditedKind, stored: StoredRow): readonly Difference[] {
    const { of, audit } = CREDITED[kind]
    return audit(stored, this.#postedOf(of))
  }

  /** The sums of rows that do not exist. */
  orphans(): readonly Difference[] {
    return Object.values(CREDITED).flatMap(({ table, of }) =>
      orphansOf(table, this.#postedOf(of).keys()),
    )
  }

  #postedOf(of: Prefix): Map<string, Posted> {
    const known = this.#posted.get(of)
    if (known !== undefined) return known
    const posted = new Map<string, Posted>()
    this.#posted.set(of, posted)
    return posted
  }
}
