import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/tables.ts'

/** A request whose attempt has ended and whose charge has not: what the reconciler works through. */
export interface UnsettledRequest {
  readonly requestId: string
  readonly state: 'provisional' | 'unresolved'
  /** What the provider can be asked for; null: nothing. */
  readonly generationId: string | null
  readonly endedAtMs: number
}

/** The place of a request in the list. */
export interface UnsettledPlace {
  readonly state: UnsettledRequest['state']
  readonly instanceId: string
  readonly requestId: string
}

/** Which page of the list is asked for. */
export interface UnsettledPage {
  /** From here on; null: from the start. */
  readonly after: UnsettledPlace | null
  readonly limit: number
}

/** A page of the list. */
export interface UnsettledList {
  readonly requests: readonly UnsettledRequest[]
  /** Where the next page begins; null: that was the last. A page may be empty and not the last. */
  readonly next: UnsettledPlace | null
}

/**
 * One page of the provisional requests, then of the unresolved ones, each process's oldest first: in
 * the order of the index, so that a page costs the same however many requests there are.
 */
export async function listUnsettled(
  db: Kysely<Tables>,
  { after, limit }: UnsettledPage,
): Promise<UnsettledList> {
  const { state, instanceId, requestId } = after ?? startOf('provisional')
  const rows = await db
    .selectFrom('requests')
    .select(['id', 'instance_id', 'generation_id', 'opened_at_ms', 'ended_at_ms'])
    // A literal: the index covers unsettled states alone, which SQLite can't see of a parameter.
    .where('state', '=', sql.lit(state))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('instance_id', 'id'), '>', tuple(instanceId, requestId)),
    )
    .orderBy('instance_id')
    .orderBy('id')
    .limit(limit)
    .execute()
  const requests = rows.map((row) => ({
    requestId: row.id,
    state,
    generationId: row.generation_id,
    endedAtMs: row.ended_at_ms ?? row.opened_at_ms,
  }))
  const last = rows.at(-1)
  if (last !== undefined && rows.length === limit) {
    return { requests, next: { state, instanceId: last.instance_id, requestId: last.id } }
  }
  return { requests, next: state === 'provisional' ? startOf('unresolved') : null }
}

function startOf(state: UnsettledRequest['state']): UnsettledPlace {
  return { state, instanceId: '', requestId: '' }
}
