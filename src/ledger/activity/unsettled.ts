import { type Kysely, type RawBuilder, sql } from 'kysely'
import { isAny } from '../../store/conditions.ts'
import { type ListPage, type Page, readPage } from '../../store/list-page.ts'
import { REQUESTS, type RequestRow, type Tables } from '../../store/schema.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'

/** A request whose attempt has ended and whose charge is not final: the reconciler looks it up. */
export interface UnsettledRequest {
  readonly requestId: string
  /** Released: its late cost is looked up for a while. Never listed. */
  readonly state: 'provisional' | 'unresolved' | 'released'
  /** The ID to ask the provider by; null: the provider can't be asked. */
  readonly generationId: string | null
  /** Whether the answer reported a cost, which the record is compared with. */
  readonly costReported: boolean
  /** Whether a record of the provider with a cost of zero is doubted; see {@link expectsCost}. */
  readonly expectsCost: boolean
  /** The platform fee in the hold of the request, in hundredths of a percent. */
  readonly feeBasisPoints: number
  readonly endedAtMs: number
}

/** The report of an answer, as far as it shows whether the request has a cost. */
interface ReportedCost {
  readonly state: UnsettledRequest['state']
  readonly chargedMicros: number
  /** Whether the reported cost is zero; null: none was reported. */
  readonly costIsZero: boolean | null
  readonly usage: Pick<
    TokenUsage,
    'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens'
  > | null
}

/** Whether a cost was reported, or tokens of a model with a price: then a cost of zero can't be right. */
export function expectsCost({ state, chargedMicros, costIsZero, usage }: ReportedCost): boolean {
  if (costIsZero !== null) return !costIsZero
  if (usage === null || (state === 'provisional' && chargedMicros === 0)) return false
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens > 0
}

/**
 * Requests in these states whose reported cost needs a look-up. The states are literals, because the index covers only
 * such requests, and SQLite can't use it for a parameter.
 */
export function isUnsettled(
  ...states: readonly ('open' | 'provisional' | 'unresolved')[]
): RawBuilder<boolean> {
  // SQLite looks up each part of an OR separately.
  return isAny(states.map((state) => sql`(cost_stands = 0 and state = ${sql.lit(state)})`))
}

/**
 * Requests that may hold credit: open, unresolved, or charged by an estimate. Without an OR, which SQLite
 * would look up part by part; literals, for the index of such requests.
 */
export const holdsCredit: RawBuilder<boolean> = sql<boolean>`
  (cost_stands = 0 and cost_usd is null and state <> 'final' and state <> 'released')`

/** Provisional requests whose reported cost stands. */
export const isStanding: RawBuilder<boolean> = sql<boolean>`(cost_stands = 1 and state = 'provisional')`

/** The place of a request in the list of unsettled requests. */
export interface UnsettledPlace {
  readonly state: 'provisional' | 'unresolved'
  readonly instanceId: string
  readonly requestId: string
}

/** Selects a page of the list of unsettled requests. */
export interface UnsettledPage {
  /** The start of the page; null: the start of the list. */
  readonly after: UnsettledPlace | null
  readonly limit: number
  /** Whether the requests of this upstream are listed. Default: those of all upstreams. */
  readonly isListed?: (upstream: string) => boolean
}

/** A page of the list of unsettled requests. */
export interface UnsettledList {
  readonly requests: readonly UnsettledRequest[]
  /** The start of the next page; null: this is the last. An empty page need not be the last. */
  readonly next: UnsettledPlace | null
}

/**
 * One page of the provisional requests, then of the unresolved ones, each process's oldest first, without those whose
 * reported cost stands: in the order of the index, so that the cost of a page does not grow with the number of requests.
 */
export async function listUnsettled(
  db: Kysely<Tables>,
  { after, limit, isListed = () => true }: UnsettledPage,
): Promise<UnsettledList> {
  const { state, instanceId, requestId } = after ?? startOf('provisional')
  const rows = await db
    .selectFrom('requests')
    .select([
      'id',
      'instance_id',
      'upstream',
      'generation_id',
      'cost_usd',
      'backed_charge_micros',
      'free_charge_micros',
      'input_tokens',
      'cache_read_tokens',
      'cache_write_tokens',
      'output_tokens',
      'fee_basis_points',
      'opened_at_ms',
      'ended_at_ms',
    ])
    .where(isUnsettled(state))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('instance_id', 'id'), '>', tuple(instanceId, requestId)),
    )
    .orderBy('instance_id')
    .orderBy('id')
    .limit(limit)
    .execute()
  const listed = rows.filter(({ upstream }) => isListed(upstream))
  const requests = listed.map((row) => ({
    requestId: row.id,
    state,
    generationId: row.generation_id,
    costReported: row.cost_usd !== null,
    expectsCost: expectsCost({
      state,
      chargedMicros: row.backed_charge_micros + row.free_charge_micros,
      costIsZero: row.cost_usd === null ? null : row.cost_usd === '0',
      usage:
        row.input_tokens === null
          ? null
          : {
              inputTokens: row.input_tokens,
              cacheReadTokens: row.cache_read_tokens ?? 0,
              cacheWriteTokens: row.cache_write_tokens ?? 0,
              outputTokens: row.output_tokens ?? 0,
            },
    }),
    feeBasisPoints: row.fee_basis_points,
    endedAtMs: row.ended_at_ms ?? row.opened_at_ms,
  }))
  const last = rows.at(-1)
  if (last !== undefined && rows.length === limit) {
    return { requests, next: { state, instanceId: last.instance_id, requestId: last.id } }
  }
  return { requests, next: state === 'provisional' ? startOf('unresolved') : null }
}

function startOf(state: UnsettledPlace['state']): UnsettledPlace {
  return { state, instanceId: '', requestId: '' }
}

/** An unsettled request, with the name of its account. */
export interface WaitingRequest extends RequestRow {
  readonly accountName: string
}

/** One page of the unsettled requests of all accounts, the oldest first; `cursor` is the last ID of the page before. */
export function listWaiting(db: Kysely<Tables>, page: Page): Promise<ListPage<WaitingRequest>> {
  const query = db
    .selectFrom('requests')
    .innerJoin('accounts', 'accounts.id', 'requests.account_id')
    .selectAll('requests')
    .select('accounts.name as account_name')
    .where(isUnsettled('provisional', 'unresolved'))
  return readPage(query, {
    ...page,
    cursor: page.cursor ?? '',
    idColumn: 'requests.id',
    order: 'asc',
    read: (row) => ({ ...REQUESTS.read(row), accountName: row.account_name }),
  })
}

/** States of a hold that is not settled. */
const UNSETTLED_STATES = ['open', 'provisional', 'unresolved'] as const

/** How many holds are in one state, and since when. */
export interface HoldCount {
  readonly state: (typeof UNSETTLED_STATES)[number]
  readonly holds: number
  /** When the oldest was opened; null: there is none. */
  readonly oldestOpenedAtMs: number | null
}

/**
 * Counts the unsettled holds of the whole store, of all instances. Goes through the index of unsettled
 * requests only, so that it costs the same however long Activity is. Ids of requests sort by their age.
 */
export async function countHolds(db: Kysely<Tables>): Promise<readonly HoldCount[]> {
  const counts: HoldCount[] = []
  for (const state of UNSETTLED_STATES) {
    const { holds, oldestId } = await db
      .selectFrom('all_requests')
      .select(({ fn }) => [
        fn.countAll<number>().as('holds'),
        fn.min<string | null>('id').as('oldestId'),
      ])
      .where(isUnsettled(state))
      .executeTakeFirstOrThrow()
    const oldest =
      oldestId === null
        ? undefined
        : await db
            .selectFrom('all_requests')
            .select('opened_at_ms')
            .where('id', '=', oldestId)
            .executeTakeFirst()
    counts.push({ state, holds: Number(holds), oldestOpenedAtMs: oldest?.opened_at_ms ?? null })
  }
  return counts
}

/** Counts the requests in these states by upstream; an upstream without any is left out. */
export async function countByUpstream(
  db: Kysely<Tables>,
  ...states: readonly HoldCount['state'][]
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('all_requests')
    .select(({ fn }) => ['upstream', fn.countAll<number>().as('requests')])
    .where(isUnsettled(...states))
    .groupBy('upstream')
    .execute()
  return new Map(rows.map(({ upstream, requests }) => [upstream, Number(requests)]))
}

/** The held credit of the requests in each state; a state without any is left out. */
export async function heldByState(db: Kysely<Tables>): Promise<ReadonlyMap<string, Micros>> {
  const rows = await db
    .selectFrom('all_requests')
    .select('state')
    // Sums of PostgreSQL are `numeric`, which the driver gives as text.
    .select(sql<number>`cast(sum(backed_held_micros + free_held_micros) as bigint)`.as('held'))
    .where(isUnsettled(...UNSETTLED_STATES))
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, held }) => [state, micros(Number(held))]))
}
