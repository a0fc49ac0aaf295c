import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { requestIdsOf, type UsageStep } from '../vocabulary/usage-step.ts'

/** The hours or days that are rolled up, or the days that were pruned, in order, with how many requests each had. */
export async function rolledBetween(
  db: Kysely<Tables>,
  {
    step,
    from,
    until,
  }: {
    readonly step: UsageStep | 'pruned'
    readonly from: number
    /** Default: there is no end. */
    readonly until?: number
  },
): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom('usage_rolled')
    .select(['number', 'requests'])
    .where('step', '=', step)
    .where('number', '>=', from)
    .$if(until !== undefined, (query) => query.where('number', '<', until ?? 0))
    .orderBy('number')
    .execute()
  return new Map(rows.map((row) => [row.number, row.requests]))
}

/** How many requests of an hour are there, open ones too: those that were pruned are not. */
export async function countRequests(db: Kysely<Tables>, hour: number): Promise<number> {
  const { fromId, untilId } = requestIdsOf({ fromHour: hour, untilHour: hour + 1 })
  const { requests } = await db
    .selectFrom('all_requests')
    .select(({ fn }) => fn.countAll().as('requests'))
    .where('id', '>=', fromId)
    .where('id', '<', untilId)
    .executeTakeFirstOrThrow()
  return Number(requests)
}

/** The first hour from one on that has requests; null: none has. */
export async function requestHourFrom(db: Kysely<Tables>, hour: number): Promise<number | null> {
  const { fromId } = requestIdsOf({ fromHour: hour, untilHour: hour })
  const found: string[] = []
  for (const table of ['holds', 'requests'] as const) {
    const query = db.selectFrom(table).select('id').where('id', '>=', fromId)
    const row = await query.orderBy('id').limit(1).executeTakeFirst()
    if (row !== undefined) found.push(row.id)
  }
  const timeMs = timeOfId(found.sort()[0] ?? '')
  return timeMs === null ? null : Math.floor(timeMs / HOUR_MS)
}
