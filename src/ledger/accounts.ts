import type { Kysely } from 'kysely'
import { ACCOUNTS, type AccountRow, type Tables } from '../store/schema.ts'

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

interface ListInput {
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
