import { createHmac, randomBytes } from 'node:crypto'
import {
  type Kysely,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { containsText } from '../store/conditions.ts'
import { ACCOUNTS, type AccountRow, type Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'
import { newestOpenedAt } from './activity/newest-request.ts'

/** Null if there is no such account. */
export async function getAccount(
  db: Kysely<Tables>,
  accountId: string,
): Promise<AccountRow | null> {
  return ACCOUNTS.readOne(db.selectFrom('accounts').selectAll().where('id', '=', accountId))
}

/** Filters a list of accounts; undefined fields filter nothing. */
export interface AccountFilter {
  readonly search?: string | undefined
  readonly externalId?: string | undefined
  readonly state?: (typeof ACCOUNT_LIST_STATES)[number] | undefined
  /** Only these accounts. */
  readonly ids?: readonly string[] | undefined
}

/** The states by which a list of accounts can be filtered. */
export const ACCOUNT_LIST_STATES = ['active', 'suspended', 'low_credit', 'in_debt'] as const

/** The values of accounts by which the store can sort a list. */
export const ACCOUNT_SORTS = ['created', 'name', 'available', 'held', 'last_request'] as const

/** The order of a list of accounts. Accounts with one value follow each other by age, in the same direction. */
export interface AccountOrder {
  readonly sort: (typeof ACCOUNT_SORTS)[number]
  readonly isDescending: boolean
}

type SortValue = string | number | null

/** The place of an account in a list. It stays the same if the account changes after its page was read. */
export interface AccountPlace {
  readonly id: string
  /** Null if accounts are sorted by their age, which the id has. */
  readonly value: SortValue
}

interface AccountsPage extends AccountFilter {
  readonly limit: number
  /** The place of the last account of the page before. Default: the first page. */
  readonly after?: AccountPlace | null
  /** Default: newest first. */
  readonly order?: AccountOrder
}

const SORT_VALUES: Readonly<Record<AccountOrder['sort'], RawBuilder<SortValue> | null>> = {
  created: null,
  name: sql<SortValue>`lower(name)`,
  // The figure on the page: a debt as an amount below zero, otherwise the credit that is not held.
  available: sql<SortValue>`case when backed_balance_micros < 0 then backed_balance_micros
    when backed_balance_micros < backed_held_micros then 0
    else backed_balance_micros - backed_held_micros end`,
  held: sql<SortValue>`backed_held_micros + free_held_micros`,
  last_request: sql<SortValue>`coalesce(${newestOpenedAt('accounts')}, 0)`,
}

/**
 * One page of accounts, and the place of its last one; null if no page follows. `search` is a part of a name, an
 * email address or an id, in any case; `externalId` the whole id that another system knows one by.
 */
export async function listAccounts(
  db: Kysely<Tables>,
  { after = null, limit, order = { sort: 'created', isDescending: true }, ...filter }: AccountsPage,
): Promise<{ readonly accounts: readonly AccountRow[]; readonly next: AccountPlace | null }> {
  const value = SORT_VALUES[order.sort]
  const direction = order.isDescending ? 'desc' : 'asc'
  const follows = sql.raw(order.isDescending ? '<' : '>')
  let query = accountsLike(db, filter).select((value ?? sql<SortValue>`null`).as('sort_value'))
  if (after !== null) {
    query = query.where(
      value === null
        ? sql<boolean>`accounts.id ${follows} ${after.id}`
        : sql<boolean>`(${value}, accounts.id) ${follows} (${after.value}, ${after.id})`,
    )
  }
  if (value !== null) query = query.orderBy('sort_value', direction)
  const rows = await query
    .orderBy('accounts.id', direction)
    .limit(limit + 1)
    .execute()
  const listed = rows.slice(0, limit)
  const last = rows.length > limit ? listed.at(-1) : undefined
  return {
    accounts: listed.map((row) => ACCOUNTS.read(row)),
    next: last === undefined ? null : { id: last.id, value: last.sort_value },
  }
}

/** The IDs of all matching accounts, in ascending order. */
export async function findAccountIds(
  db: Kysely<Tables>,
  filter: AccountFilter,
): Promise<readonly string[]> {
  const rows = await accountsLike(db, filter).clearSelect().select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** The accounts with these IDs, in the order of the IDs; unknown IDs are left out. */
export async function getAccounts(
  db: Kysely<Tables>,
  accountIds: readonly string[],
): Promise<readonly AccountRow[]> {
  if (accountIds.length === 0) return []
  const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', accountIds).execute()
  const found = new Map(rows.map((row) => [row.id, ACCOUNTS.read(row)]))
  return accountIds.flatMap((id) => found.get(id) ?? [])
}

/**
 * Literals, because indexes are chosen by the text of the query. The database computes `credit_state`, which nearly no
 * charge changes: on PostgreSQL, a charge writes to every index of accounts if it changes a value that one of them has.
 */
const IN_STATE: Readonly<Record<(typeof ACCOUNT_LIST_STATES)[number], RawBuilder<SqlBool>>> = {
  active: sql`disabled = 0`,
  suspended: sql`disabled = 1`,
  // Like the event `balance.low`, but without debtors and suspended accounts.
  low_credit: sql`credit_state = 'low_credit'`,
  in_debt: sql`credit_state = 'in_debt'`,
}

function accountsLike(
  db: Kysely<Tables>,
  { search, externalId, state, ids }: AccountFilter,
): SelectQueryBuilder<Tables, 'accounts', Selectable<Tables['accounts']>> {
  let query = db.selectFrom('accounts').selectAll()
  if (externalId !== undefined) query = query.where('external_id', '=', externalId)
  if (state !== undefined) query = query.where(IN_STATE[state])
  if (ids !== undefined) {
    // PostgreSQL takes no empty list.
    query = ids.length === 0 ? query.where(sql<boolean>`1 = 0`) : query.where('id', 'in', ids)
  }
  if (search !== undefined) {
    query = query.where(containsText(search, sql`name || ' ' || coalesce(email, '') || ' ' || id`))
  }
  return query
}

/** When the newest request of each account was opened; an account without any is left out. */
export async function lastRequestTimes(
  db: Kysely<Tables>,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('accounts')
    .select(['accounts.id', newestOpenedAt('accounts').as('opened_at_ms')])
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
