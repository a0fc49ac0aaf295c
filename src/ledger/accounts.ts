import type { Kysely, Selectable } from 'kysely'
import type { AccountsTable, Tables } from '../store/tables.ts'

/** An owner of money, without the money. */
export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly disabled: boolean
  readonly createdAtMs: number
}

export interface CreateAccountInput {
  /** An id of the prefix `acct`. */
  readonly id: string
  readonly name: string
  /** Default null. */
  readonly email?: string | null
  readonly nowMs: number
}

/** Makes an account without credit. */
export async function createAccount(
  db: Kysely<Tables>,
  input: CreateAccountInput,
): Promise<Account> {
  const row = await db
    .insertInto('accounts')
    .values({
      id: input.id,
      name: input.name,
      email: input.email ?? null,
      disabled: 0,
      created_at_ms: input.nowMs,
      backed_balance_micros: 0,
      backed_held_micros: 0,
      free_balance_micros: 0,
      free_held_micros: 0,
      free_expires_at_ms: null,
      has_backed_credit: 0,
      request_window: '',
      entry_count: 0,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return accountOf(row)
}

/** Null where there is no such account. */
export async function getAccount(db: Kysely<Tables>, accountId: string): Promise<Account | null> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : accountOf(row)
}

export interface ListInput {
  /** The last id of the page before; null or absent: the first page. */
  readonly cursor?: string | null
  readonly limit: number
}

/** One page of accounts, newest first; the cursor of the next is null where there is none. */
export async function listAccounts(
  db: Kysely<Tables>,
  { cursor, limit }: ListInput,
): Promise<{ readonly accounts: readonly Account[]; readonly nextCursor: string | null }> {
  let query = db.selectFrom('accounts').selectAll()
  if (cursor !== undefined && cursor !== null) query = query.where('id', '<', cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const accounts = rows.slice(0, limit).map(accountOf)
  return { accounts, nextCursor: rows.length > limit ? (accounts.at(-1)?.id ?? null) : null }
}

export interface UpdateAccountInput {
  readonly id: string
  readonly name?: string
  readonly email?: string | null
  /** The keys of a disabled account answer `api_key_disabled`. */
  readonly disabled?: boolean
}

/** Changes what is given and nothing else. Null where there is no such account. */
export async function updateAccount(
  db: Kysely<Tables>,
  input: UpdateAccountInput,
): Promise<Account | null> {
  const change = {
    ...(input.name === undefined ? {} : { name: input.name }),
    ...(input.email === undefined ? {} : { email: input.email }),
    ...(input.disabled === undefined ? {} : { disabled: input.disabled ? 1 : 0 }),
  }
  if (Object.keys(change).length === 0) return getAccount(db, input.id)
  const row = await db
    .updateTable('accounts')
    .set(change)
    .where('id', '=', input.id)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : accountOf(row)
}

function accountOf(row: Selectable<AccountsTable>): Account {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    disabled: row.disabled === 1,
    createdAtMs: row.created_at_ms,
  }
}
