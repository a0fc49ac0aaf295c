import type { Kysely } from 'kysely'
import { ACCOUNTS, type AccountRow, type Tables } from '../store/schema.ts'

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
): Promise<AccountRow> {
  const { id, name, email = null, nowMs } = input
  const account = { ...ACCOUNTS.start, id, name, email, createdAtMs: nowMs }
  await db.insertInto('accounts').values(ACCOUNTS.record(account)).execute()
  return account
}

/** Null where there is no such account. */
export async function getAccount(
  db: Kysely<Tables>,
  accountId: string,
): Promise<AccountRow | null> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : ACCOUNTS.read(row)
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
): Promise<{ readonly accounts: readonly AccountRow[]; readonly nextCursor: string | null }> {
  let query = db.selectFrom('accounts').selectAll()
  if (cursor !== undefined && cursor !== null) query = query.where('id', '<', cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const accounts = rows.slice(0, limit).map((row) => ACCOUNTS.read(row))
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
): Promise<AccountRow | null> {
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
  return row === undefined ? null : ACCOUNTS.read(row)
}
