import { type Kysely, sql } from 'kysely'
import { SALE_CURSORS } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { cappedMicros, type Micros } from '../vocabulary/money.ts'

/** The sales so far, and when each source of payments was last looked at. */
export interface SaleFigures {
  readonly purchases: readonly {
    readonly method: string
    readonly state: string
    readonly purchases: number
    /** Their credit, or the credit that they would add. */
    readonly creditMicros: Micros
    /** The part that went back. */
    readonly reversedMicros: Micros
  }[]
  readonly looks: readonly {
    /** `play`, `stripe`, or `chain:<chain id>`. */
    readonly source: string
    readonly position: string
    readonly lookedAtMs: number
  }[]
}

/** Sums over all purchases of the store, and its cursors. */
export async function saleFigures(db: Kysely<Tables>): Promise<SaleFigures> {
  const sums = await db
    .selectFrom('purchases')
    .select(({ fn }) => [
      'method',
      'state',
      fn.countAll<number | string>().as('purchases'),
      fn.sum<number>(real('credit_micros')).as('credit'),
      fn.sum<number>(real('reversed_micros')).as('reversed'),
    ])
    .groupBy(['method', 'state'])
    .orderBy('method')
    .orderBy('state')
    .execute()
  const cursors = await db
    .selectFrom('sale_cursors')
    .selectAll()
    // The nightly scan and tokens that wait have cursors of their own, which are old by their nature.
    .where('source', 'not like', '%:%:%')
    .orderBy('source')
    .execute()
  return {
    purchases: sums.map(({ method, state, purchases, credit, reversed }) => ({
      method,
      state,
      purchases: Number(purchases),
      creditMicros: cappedMicros(credit),
      reversedMicros: cappedMicros(reversed),
    })),
    looks: cursors.map((row) => SALE_CURSORS.read(row)),
  }
}

/** An amount of a row, so that no sum overflows: any sender can make deposits of all units of a test token. */
function real(column: 'credit_micros' | 'reversed_micros') {
  return sql<number>`cast(${sql.ref(column)} as double precision)`
}
