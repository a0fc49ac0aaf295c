import { type Kysely, type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import { isAny, isOneOf } from '../../store/conditions.ts'
import type { Page } from '../../store/list-page.ts'
import { REQUESTS, type RequestRow, type Tables } from '../../store/schema.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../../vocabulary/ids.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import { isUnsettled } from './unsettled.ts'

/** One value, or any of several. */
type Some<Value> = Value | readonly Value[]

/** Filters a list of requests; undefined fields filter nothing. */
export interface RequestFilter {
  readonly accountId?: string | undefined
  readonly apiKeyId?: Some<string> | undefined
  readonly state?: Some<RequestState> | undefined
  readonly modelId?: Some<string> | undefined
  readonly endpoint?: Some<string> | undefined
  readonly upstream?: Some<string> | undefined
  /** Requests with this tag, or with one of these tags. */
  readonly tag?: Some<string> | undefined
  /** Requests that ended with an error, or requests that did not. */
  readonly failed?: boolean | undefined
  /** Opened at this moment or later. */
  readonly sinceMs?: number | undefined
  /** Opened before this moment. */
  readonly untilMs?: number | undefined
}

/**
 * One page of requests, newest first; the cursor of the next is null if there is none. The time in the
 * ids limits the read to the part of Activity that can match.
 */
export async function listRequests(
  db: Kysely<Tables>,
  { cursor, limit, ...filter }: RequestFilter & Page,
): Promise<{ readonly requests: readonly RequestRow[]; readonly nextCursor: string | null }> {
  const found = await newestLike(db, { ...filter, cursor: cursor ?? null, limit: limit + 1 })
  const requests = found.slice(0, limit)
  return { requests, nextCursor: found.length > limit ? (requests.at(-1)?.id ?? null) : null }
}

/** The newest requests that a filter matches: before `cursor`, and from the ID `fromId` on, if they are given. */
export async function newestLike(
  db: Kysely<Tables>,
  {
    fromId = '',
    limit,
    ...filter
  }: RequestFilter & {
    readonly cursor: string | null
    readonly fromId?: string
    readonly limit: number
  },
): Promise<readonly RequestRow[]> {
  const read = async (table: RequestTable, more: RequestFilter = {}) => {
    return REQUESTS.readAll(
      requestsLike(db, { table, ...filter, ...more })
        .where('id', '>=', fromId)
        .orderBy('id', 'desc')
        .limit(limit),
    )
  }
  if (wantsOnlyUnsettled(filter)) return read('all_requests')
  // Two reads, because PostgreSQL without statistics sorts all requests of an account before it merges two tables. A
  // request that ends between the reads is in both.
  const open = mayBeOpen(filter) ? await read('all_requests', { state: 'open' }) : []
  const ended = await read('requests')
  if (open.length === 0) return ended
  const byId = new Map([...open, ...ended].map((row) => [row.id, row]))
  return [...byId.values()].toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit)
}

/** The table that requests are read from: all requests, or only ended ones. */
type RequestTable = 'all_requests' | 'requests'

function mayBeOpen({ state, failed }: RequestFilter): boolean {
  return failed !== true && (state === undefined || listOf(state).includes('open'))
}

/** The query for the requests that a filter matches, before a cursor if there is one, without an order. */
export function requestsLike(
  db: Kysely<Tables>,
  {
    table,
    cursor,
    ...filter
  }: RequestFilter & { readonly table: RequestTable; readonly cursor: string | null },
): SelectQueryBuilder<Tables, RequestTable, Selectable<Tables['requests']>> {
  let query = db.selectFrom(table).selectAll()
  const ownerColumn = (name: 'account_id' | 'api_key_id') =>
    // Few requests are unsettled, even of all accounts: the expression keeps the database from using the indexes of
    // accounts and keys.
    wantsOnlyUnsettled(filter) ? sql<string>`${sql.ref(name)} || ''` : sql.ref<string>(name)
  if (filter.accountId !== undefined) {
    query = query.where(ownerColumn('account_id'), '=', filter.accountId)
  }
  if (filter.apiKeyId !== undefined) {
    query = query.where(ownerColumn('api_key_id'), 'in', listOf(filter.apiKeyId))
  }
  if (filter.state !== undefined) query = query.where(inState(listOf(filter.state)))
  if (filter.modelId !== undefined) query = query.where('model_id', 'in', listOf(filter.modelId))
  if (filter.endpoint !== undefined) query = query.where('endpoint', 'in', listOf(filter.endpoint))
  if (filter.upstream !== undefined) query = query.where('upstream', 'in', listOf(filter.upstream))
  if (filter.tag !== undefined) query = query.where(hasTag(listOf(filter.tag)))
  if (filter.failed !== undefined) {
    query = query.where('error_code', filter.failed ? 'is not' : 'is', null)
  }
  if (filter.sinceMs !== undefined) {
    query = query
      .where('opened_at_ms', '>=', filter.sinceMs)
      .where('id', '>=', firstIdOf({ prefix: 'req', timeMs: filter.sinceMs - ID_AGE_MS_MAX }))
  }
  if (filter.untilMs !== undefined) {
    query = query
      .where('opened_at_ms', '<', filter.untilMs)
      .where('id', '<', firstIdOf({ prefix: 'req', timeMs: filter.untilMs + ID_AGE_MS_MAX }))
  }
  return cursor === null ? query : query.where('id', '<', cursor)
}

/** Whether only open and unresolved requests match, which are few and have an index of their own. */
export function wantsOnlyUnsettled({ state }: RequestFilter): boolean {
  return state !== undefined && listOf(state).every(isOpenOrUnresolved)
}

function isOpenOrUnresolved(state: RequestState): state is 'open' | 'unresolved' {
  return state === 'open' || state === 'unresolved'
}

function listOf<Value extends string>(some: Some<Value>): readonly Value[] {
  return typeof some === 'string' ? [some] : some
}

// Literals, because the index of unsettled requests is chosen by the text of the query.
function inState(states: readonly RequestState[]): RawBuilder<boolean> {
  if (states.every(isOpenOrUnresolved)) return isUnsettled(...states)
  return isOneOf('state', states)
}

/**
 * Whether a request has one of these tags. No tag has a comma, and each quote inside a tag follows a backslash, so `["`
 * and `,"` occur only before a tag.
 */
function hasTag(tags: readonly string[]): RawBuilder<boolean> {
  const places = tags.flatMap((tag) => [`[${JSON.stringify(tag)}`, `,${JSON.stringify(tag)}`])
  return isAny(places.map((place) => sql`replace(tags, ${place}, '') <> tags`))
}

/** Null if no hold was opened for this id, or it has been pruned. */
export async function getRequest(
  db: Kysely<Tables>,
  requestId: string,
): Promise<RequestRow | null> {
  const query = db.selectFrom('all_requests').selectAll().where('id', '=', requestId)
  return REQUESTS.readOne(query)
}
