import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { addMicros, type Micros, micros, ZERO_MICROS } from '../../vocabulary/money.ts'
import { BOUGHT } from './entries.ts'

/** Paid credit that was added, and how often, by who added it. */
interface TopUps {
  readonly amountMicros: Micros
  /** By operators and programs. */
  readonly topUps: number
  readonly purchases: number
  /** Redeemed credit codes. */
  readonly codes: number
}

interface TopUpRange {
  /** Null: all accounts. */
  readonly accountId: string | null
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
}

/** Adds up the paid credit that was added in a range; what went back of it later does not lessen it. */
export async function sumTopUps(
  db: Kysely<Tables>,
  { accountId, fromMs, toMs }: TopUpRange,
): Promise<TopUps> {
  const all = db
    .selectFrom('entries')
    .select(({ fn }) => [
      'kind',
      fn.countAll<number | string>().as('entries'),
      fn.sum<number | string>('amount_micros').as('amount'),
    ])
    .where(BOUGHT)
    .where('kind', '!=', 'reversal')
    .where('created_at_ms', '>=', fromMs)
    .where('created_at_ms', '<', toMs)
    .groupBy('kind')
  const query = accountId === null ? all : all.where('account_id', '=', accountId)
  const rows = await query.execute()
  const entriesOf = (kind: string) => Number(rows.find((row) => row.kind === kind)?.entries ?? 0)
  return {
    amountMicros: rows.reduce(
      (sum, { amount }) => addMicros(sum, micros(Number(amount))),
      ZERO_MICROS,
    ),
    topUps: entriesOf('top_up'),
    purchases: entriesOf('purchase'),
    codes: entriesOf('activation'),
  }
}
