import { type Kysely, sql } from 'kysely'
import { CONFIRMING_DEPOSITS, DEPOSIT_ADDRESSES } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { StoreRefused } from '../store/store-failure.ts'
import type { RowOf } from '../store/table.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { slicesOf } from '../vocabulary/slices.ts'

/** A deposit in a block that is not final. */
export type ConfirmingDeposit = RowOf<typeof CONFIRMING_DEPOSITS>

type AddressRow = RowOf<typeof DEPOSIT_ADDRESSES>

/** The cursor of a chain. */
export function cursorOf(chainId: number): string {
  return `chain:${chainId}`
}

/** The cursor of a token that waits for a rate while the others of its chain are scanned. */
export function waitingCursorOf(chainId: number, method: string): string {
  return `${cursorOf(chainId)}:waits:${method}`
}

/** The names that {@link cursorOf} and {@link waitingCursorOf} give the cursors of a row. */
const CURSOR_OF_ROW = sql`'chain:' || cast(chain_id as text)`
const WAITING_CURSOR_OF_ROW = sql`${CURSOR_OF_ROW} || ':waits:' || method`

/** The account of each deposit address of a chain, by the address in lower case. */
export async function readDepositAddresses(
  db: Kysely<Tables>,
  chainId: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('deposit_addresses')
    .select(['address', 'account_id'])
    .where('chain_id', '=', chainId)
    .execute()
  return new Map(rows.map(({ address, account_id }) => [address, account_id]))
}

/** The deposit addresses of an account on a chain, in lower case. */
export async function readAddressesOf(
  db: Kysely<Tables>,
  { chainId, accountId }: Pick<AddressRow, 'chainId' | 'accountId'>,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('deposit_addresses')
    .select('address')
    .where('account_id', '=', accountId)
    .where('chain_id', '=', chainId)
    .execute()
  return new Set(rows.map(({ address }) => address))
}

/** A place in the list of all addresses: after this one. */
interface AddressPlace {
  readonly chainId: number
  readonly address: string
}

/** An address, and how many deposits of its account the store has on its chain. */
type ListedAddress = AddressRow & { readonly deposits: number }

/** A page of the deposit addresses of all chains and accounts, in the order of chains and addresses. */
export async function listDepositAddresses(
  db: Kysely<Tables>,
  {
    after,
    limit,
    accountId,
  }: {
    readonly after: AddressPlace | null
    readonly limit: number
    readonly accountId: string | undefined
  },
): Promise<{ readonly addresses: readonly ListedAddress[]; readonly next: AddressPlace | null }> {
  let query = db
    .selectFrom('deposit_addresses')
    .selectAll()
    .select(
      sql<number | string>`(select count(*) from purchases
        where purchases.account_id = deposit_addresses.account_id
        and purchases.source like ${CURSOR_OF_ROW} || ':%')`.as('deposits'),
    )
  if (accountId !== undefined) query = query.where('account_id', '=', accountId)
  if (after !== null) {
    const { chainId, address } = after
    query = query.where(sql<boolean>`(chain_id, address) > (${chainId}, ${address})`)
  }
  const rows = await query
    .orderBy('chain_id')
    .orderBy('address')
    .limit(limit + 1)
    .execute()
  const addresses = rows
    .slice(0, limit)
    .map(({ deposits, ...row }) => ({ ...DEPOSIT_ADDRESSES.read(row), deposits: Number(deposits) }))
  return { addresses, next: rows.length > limit ? (addresses.at(-1) ?? null) : null }
}

/** Makes the addresses durable. One that is there already is not changed. */
export async function addDepositAddresses(
  db: Kysely<Tables>,
  rows: readonly AddressRow[],
): Promise<void> {
  if (rows.length === 0) return
  await db
    .insertInto('deposit_addresses')
    .values(rows.map((row) => DEPOSIT_ADDRESSES.record(row)))
    .onConflict((conflict) => conflict.columns(['chain_id', 'address']).doNothing())
    .execute()
}

const HANDED_OUT_KEPT_MS = HOUR_MS

/** The deposit addresses that this process has handed out within the hour: a database that goes back loses the newest. */
export class HandedOut {
  readonly #rows = new Map<string, AddressRow>()

  /** Notes an address with the time at which it was handed out. */
  note(row: AddressRow): void {
    this.#rows.set(row.address, row)
  }

  /**
   * The account of each deposit address of a chain, by the address in lower case. Addresses that the store has lost are
   * written again; one whose account is gone too, only once the account is back.
   */
  async readAddresses(
    db: Kysely<Tables>,
    { chainId, nowMs }: { readonly chainId: number; readonly nowMs: number },
  ): Promise<ReadonlyMap<string, string>> {
    const accountOf = new Map(await readDepositAddresses(db, chainId))
    for (const row of this.#rows.values()) {
      if (row.createdAtMs < nowMs - HANDED_OUT_KEPT_MS) this.#rows.delete(row.address)
      else if (row.chainId === chainId && !accountOf.has(row.address)) {
        if (await isWritten(db, row)) accountOf.set(row.address, row.accountId)
      }
    }
    return accountOf
  }
}

/** False: the store refuses it, as it has no such account. */
async function isWritten(db: Kysely<Tables>, row: AddressRow): Promise<boolean> {
  try {
    await addDepositAddresses(db, [row])
    return true
  } catch (error) {
    if (error instanceof StoreRefused) return false
    throw error
  }
}

/** Replaces the confirming deposits of a chain by the results of one look. */
export async function replaceConfirming(
  db: Kysely<Tables>,
  { chainId, rows }: { readonly chainId: number; readonly rows: readonly ConfirmingDeposit[] },
): Promise<void> {
  const earlier = await db
    .selectFrom('confirming_deposits')
    .select('tx_hash')
    .where('chain_id', '=', chainId)
    .limit(1)
    .execute()
  // Most looks find none: nothing is written then.
  if (earlier.length + rows.length === 0) return
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('confirming_deposits').where('chain_id', '=', chainId).execute()
    for (const some of slicesOf(rows, ROWS_AT_ONCE)) {
      await transaction
        .insertInto('confirming_deposits')
        .values(some.map((row) => CONFIRMING_DEPOSITS.record(row)))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  })
}

// A statement of SQLite takes 32,766 values, and anyone can send thousands of small deposits.
const ROWS_AT_ONCE = 500

const CONFIRMING_MAX = 100

/** The confirming deposits of an account, newest first: the first hundred. */
export async function listConfirming(
  db: Kysely<Tables>,
  accountId: string,
): Promise<readonly ConfirmingDeposit[]> {
  return CONFIRMING_DEPOSITS.readAll(
    db
      .selectFrom('confirming_deposits')
      .selectAll()
      .where('account_id', '=', accountId)
      // Deposits up to the cursor are already credited: the look that removes them has not ended.
      .where(
        sql<boolean>`block > coalesce(
        (select cast(position as bigint) from sale_cursors where source = ${WAITING_CURSOR_OF_ROW}),
        (select cast(position as bigint) from sale_cursors where source = ${CURSOR_OF_ROW}), -1)`,
      )
      .orderBy('block', 'desc')
      .orderBy('log_index', 'desc')
      .limit(CONFIRMING_MAX),
  )
}
