import type { Kysely } from 'kysely'
import { PROGRAM_SCHEMA } from '../../store/migrations/migrations.ts'
import type { Tables } from '../../store/schema.ts'
import { isUnsettled } from '../activity/unsettled.ts'
import type { Ledger } from '../commands.ts'

interface InstanceInput {
  /** An id of the prefix `inst`, new at each start. */
  readonly id: string
  readonly nowMs: number
}

/** Records that an instance has started. */
export async function registerInstance(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .insertInto('instances')
    .values({
      id: input.id,
      started_at_ms: input.nowMs,
      heartbeat_at_ms: input.nowMs,
      stopped_at_ms: null,
      program_schema: PROGRAM_SCHEMA,
    })
    .execute()
}

/** Records that an instance is running, at this moment. */
export async function heartbeat(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .updateTable('instances')
    .set({ heartbeat_at_ms: input.nowMs })
    .where('id', '=', input.id)
    .execute()
}

/** Records that an instance has stopped. */
export async function stopInstance(db: Kysely<Tables>, input: InstanceInput): Promise<void> {
  await db
    .updateTable('instances')
    .set({ heartbeat_at_ms: input.nowMs, stopped_at_ms: input.nowMs })
    .where('id', '=', input.id)
    .execute()
}

/**
 * Makes every open hold of any other instance unresolved, and returns how many. Only for the
 * process with the serve lock, which proves that the other instances are gone.
 */
export async function abandonEarlierInstances(input: {
  readonly db: Kysely<Tables>
  readonly ledger: Ledger
  /** The instance that asks, whose own holds are alive. */
  readonly instanceId: string
}): Promise<number> {
  const rows = await input.db
    .selectFrom('all_requests')
    .select('instance_id')
    .distinct()
    .where(isUnsettled('open'))
    .where('instance_id', '!=', input.instanceId)
    .execute()
  let abandoned = 0
  for (const { instance_id } of rows) abandoned += await input.ledger.abandonInstance(instance_id)
  return abandoned
}

/** Whether a server works with a store. */
export interface AtWork {
  /** Instances with a heartbeat in the last half minute that have not stopped. */
  readonly instances: number
  /** Holds whose attempts are under way, or whose instance is gone. */
  readonly openHolds: number
}

const HEARTBEAT_AGE_MS_MAX = 30_000

/** Counts the live instances and open holds of a store. */
export async function readAtWork(view: Kysely<Tables>, nowMs: number): Promise<AtWork> {
  const alive = await view
    .selectFrom('instances')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('stopped_at_ms', 'is', null)
    .where('heartbeat_at_ms', '>', nowMs - HEARTBEAT_AGE_MS_MAX)
    .executeTakeFirst()
  const open = await view
    .selectFrom('all_requests')
    .select(({ fn }) => fn.countAll().as('count'))
    .where(isUnsettled('open'))
    .executeTakeFirst()
  return { instances: Number(alive?.count ?? 0), openHolds: Number(open?.count ?? 0) }
}
