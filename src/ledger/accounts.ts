import { createHmac, randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { containsText } from '../store/contains-text.ts'
import { ACCOUNTS, type AccountRow, type Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'
import type { Page } from '../vocabulary/page.ts'

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

/** Which accounts to list; undefined filters nothing. */
export interface AccountFilter {
  readonly search?: string | undefined
  readonly externalId?: string | undefined
  readonly state?: (typeof ACCOUNT_LIST_STATES)[number] | undefined
}

/** The states by which a list of accounts can be filtered. */
export const ACCOUNT_LIST_STATES = ['active', 'suspended', 'in_debt'] as const

/**
 * One page of accounts, newest first; the cursor of the next is null where there is none. `search` is a part
 * of a name, an email address or an id, in any case; `externalId` the whole id that another system knows one by; in
 * debt is one whose paid credit is below zero.
 */
export async function listAccounts(
  db: Kysely<Tables>,
  { cursor, limit, search, externalId, state }: Page & AccountFilter,
): Promise<{ readonly accounts: readonly AccountRow[]; readonly nextCursor: string | null }> {
  let query = db.selectFrom('accounts').selectAll()
  if (cursor !== undefined && cursor !== null) query = query.where('id', '<', cursor)
  if (externalId !== undefined) query = query.where('external_id', '=', externalId)
  if (state === 'in_debt') query = query.where('backed_balance_micros', '<', 0)
  else if (state !== undefined) query = query.where('disabled', '=', state === 'active' ? 0 : 1)
  if (search !== undefined) {
    query = query.where(containsText(search, sql`name || ' ' || coalesce(email, '') || ' ' || id`))
  }
  const rows = await query
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  const accounts = rows.slice(0, limit).map((row) => ACCOUNTS.read(row))
  return { accounts, nextCursor: rows.length > limit ? (accounts.at(-1)?.id ?? null) : null }
}

/** When the newest request of each account was opened; an account without any is left out. */
export async function lastRequestTimes(
  db: Kysely<Tables>,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('accounts')
    .select(({ selectFrom }) => [
      'accounts.id',
      selectFrom('requests')
        .select('requests.opened_at_ms')
        .whereRef('requests.account_id', '=', 'accounts.id')
        .orderBy('requests.id', 'desc')
        .limit(1)
        .as('opened_at_ms'),
    ])
    .where('accounts.id', 'in', accountIds)
    .execute()
  return new Map(
    rows.flatMap(({ id, opened_at_ms: openedAtMs }) =>
      openedAtMs === null ? [] : [[id, Number(openedAtMs)] as const],
    ),
  )
}

/** Turns an account id into the tag that is sent to the provider in its place. */
type AccountTagger = (accountId: string) => string

const SECRET_BYTES = 32
const TAGS_MAX = 10_000

/**
 * Opens the store's account tags: stable as long as the store lives, and not reversible without its
 * secret, which is made the first time. Throws `StoreUnavailable`.
 */
export async function openAccountTagger(db: Kysely<Tables>): Promise<AccountTagger> {
  const secret = await settingOnce(db, {
    name: 'account_tag_secret',
    value: randomBytes(SECRET_BYTES).toString('hex'),
  })
  return createAccountTagger(Buffer.from(secret, 'hex'))
}

/** Tags under a secret: HMAC-SHA-256 of the account id, 43 characters of base64url. */
export function createAccountTagger(secret: Uint8Array): AccountTagger {
  const tags = new Map<string, string>()
  return (accountId) => {
    const known = tags.get(accountId)
    if (known !== undefined) return known
    const tag = createHmac('sha256', secret).update(accountId).digest('base64url')
    if (tags.size >= TAGS_MAX) tags.clear()
    tags.set(accountId, tag)
    return tag
  }
}
