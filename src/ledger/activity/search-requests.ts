import type { Kysely } from 'kysely'
import type { Page } from '../../store/list-page.ts'
import { REQUESTS, type RequestRow, type Tables } from '../../store/schema.ts'
import { DAY_MS, HOUR_MS } from '../../vocabulary/clock.ts'
import { firstIdOf, ID_AGE_MS_MAX, timeOfId } from '../../vocabulary/ids.ts'
import { listRequests, newestLike, type RequestFilter, wantsOnlyUnsettled } from './activity.ts'

/** A page of matching requests, or the part of it that was found in time. */
export interface FoundRequests {
  readonly requests: readonly RequestRow[]
  /** Null: there are no others. */
  readonly nextCursor: string | null
  /** How far back the search came before its time was up; the next page continues there. Null: the search is complete. */
  readonly searchedBackToMs: number | null
}

// A page of a list is answered within 200 ms: the search stops at 150, and its last slice can run over.
const SEARCH_MS_MAX = 150
const FIRST_SLICE_MS = HOUR_MS
// A slice takes about a quarter of the time limit.
const SLICE_SHARE = 4
const SLICE_GROWTH_MAX = 8

/**
 * One page of requests, newest first, as {@link listRequests}. A filter without an index searches slices of time,
 * up to a time limit.
 */
export async function searchRequests(
  db: Kysely<Tables>,
  input: RequestFilter &
    Page & {
      /** A clock that never steps, in milliseconds. Default the process's own. */
      readonly elapsedMs?: () => number
    },
): Promise<FoundRequests> {
  const { elapsedMs, ...page } = input
  const newestMs = isIndexed(page) ? null : await newestTimeMs(db, page)
  if (newestMs === null) return { ...(await listRequests(db, page)), searchedBackToMs: null }
  return searchSlices(db, {
    page,
    newestMs,
    oldestMs: await oldestTimeMs(db, page),
    elapsedMs: elapsedMs ?? (() => performance.now()),
  })
}

/** Whether an index has the matching requests together: all of an account, of a key, or unsettled. */
function isIndexed(filter: RequestFilter): boolean {
  if (wantsOnlyUnsettled(filter)) return true
  const { apiKeyId, state, modelId, endpoint, upstream, failed, tag } = filter
  if (state !== undefined || modelId !== undefined || upstream !== undefined) return false
  if (endpoint !== undefined || failed !== undefined || tag !== undefined) return false
  return apiKeyId === undefined || [apiKeyId].flat().length === 1
}

async function searchSlices(
  db: Kysely<Tables>,
  {
    page,
    newestMs,
    oldestMs,
    elapsedMs,
  }: Readonly<Record<'newestMs' | 'oldestMs', number>> & {
    readonly page: RequestFilter & Page
    readonly elapsedMs: () => number
  },
): Promise<FoundRequests> {
  const { limit, cursor = null, ...filter } = page
  const beganAtMs = elapsedMs()
  const found: RequestRow[] = []
  let untilId = cursor
  let untilMs = newestMs
  let sliceMs = FIRST_SLICE_MS
  for (;;) {
    const fromMs = untilMs - sliceMs
    const fromId = firstIdOf({ prefix: 'req', timeMs: fromMs })
    const sliceBeganAtMs = elapsedMs()
    const wanted = limit + 1 - found.length
    found.push(...(await newestLike(db, { ...filter, cursor: untilId, fromId, limit: wanted })))
    const requests = found.slice(0, limit)
    if (found.length > limit) {
      return { requests, nextCursor: requests.at(-1)?.id ?? null, searchedBackToMs: null }
    }
    if (fromMs <= oldestMs) return { requests, nextCursor: null, searchedBackToMs: null }
    const nowMs = elapsedMs()
    if (nowMs - beganAtMs >= SEARCH_MS_MAX) {
      return { requests, nextCursor: fromId, searchedBackToMs: fromMs }
    }
    const growth = SEARCH_MS_MAX / SLICE_SHARE / Math.max(1, nowMs - sliceBeganAtMs)
    sliceMs = Math.ceil(sliceMs * Math.min(SLICE_GROWTH_MAX, growth))
    untilId = fromId
    untilMs = fromMs
  }
}

/** The time up to which ids are searched; null: the ids have no time. */
async function newestTimeMs(
  db: Kysely<Tables>,
  { accountId, untilMs, cursor }: RequestFilter & Page,
): Promise<number | null> {
  const last = cursor ?? (await endOf(db, { accountId, end: 'desc' }))
  const newestMs = last === null ? null : timeOfId(last)
  if (newestMs === null || untilMs === undefined) return newestMs === null ? null : newestMs + 1
  return Math.min(newestMs + 1, untilMs + ID_AGE_MS_MAX)
}

async function oldestTimeMs(
  db: Kysely<Tables>,
  { accountId, sinceMs }: RequestFilter,
): Promise<number> {
  const first = await endOf(db, { accountId, end: 'asc' })
  const oldestMs = first === null ? null : timeOfId(first)
  return Math.max(oldestMs ?? 0, (sinceMs ?? 0) - ID_AGE_MS_MAX)
}

/** The first or last id of an account, or of all. */
async function endOf(
  db: Kysely<Tables>,
  { accountId, end }: { readonly accountId: string | undefined; readonly end: 'asc' | 'desc' },
): Promise<string | null> {
  const found: string[] = []
  for (const table of ['holds', 'requests'] as const) {
    const row = await db
      .selectFrom(table)
      .select('id')
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .orderBy('id', end)
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined) found.push(row.id)
  }
  return found.sort().at(end === 'asc' ? 0 : -1) ?? null
}

// The provider's IDs are searched this far back: they have no index, because every request would pay for one.
const RECENT_MS = DAY_MS
// At most so many requests are searched, which takes a few milliseconds.
const RECENT_MAX = 10_000

/**
 * The request of a key with the provider's id of its generation; null: there is none, or it is not known when it began
 * and it is older than a day or than the newest 10,000 requests of the key. Reads requests of one key and of a few
 * hours, through the index of keys.
 */
export async function findGeneration(
  db: Kysely<Tables>,
  {
    apiKeyId,
    generationId,
    beganMs,
    nowMs,
  }: {
    readonly apiKeyId: string
    readonly generationId: string
    /** When the generation began; null: unknown. */
    readonly beganMs: number | null
    readonly nowMs: number
  },
): Promise<RequestRow | null> {
  const idAt = (timeMs: number): string => firstIdOf({ prefix: 'req', timeMs })
  const near = db
    .selectFrom('all_requests')
    .selectAll()
    .where('api_key_id', '=', apiKeyId)
    .where('id', '>=', idAt(beganMs === null ? nowMs - RECENT_MS : beganMs - ID_AGE_MS_MAX))
    .where('id', '<', idAt((beganMs ?? nowMs) + ID_AGE_MS_MAX))
    .orderBy('id', 'desc')
    .$if(beganMs === null, (query) => query.limit(RECENT_MAX))
  return REQUESTS.readOne(
    db
      .selectFrom(near.as('near'))
      .selectAll()
      .where('generation_id', '=', generationId)
      .orderBy('id', 'desc')
      .limit(1),
  )
}
