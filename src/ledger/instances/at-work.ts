import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'

/** Whether somebody serves from a store. */
export interface AtWork {
  /** Instances that said so within the last half minute, and not that they stopped. */
  readonly instances: number
  /** Holds whose attempts are under way, or whose instance is gone. */
  readonly openHolds: number
}

const HEARTBEAT_AGE_MS_MAX = 30_000

/** Who serves from a store, as far as its rows tell. */
export async function readAtWork(view: Kysely<Tables>, nowMs: number): Promise<AtWork> {
  const alive = await view
    .selectFrom('instances')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('stopped_at_ms', 'is', null)
    .where('heartbeat_at_ms', '>', nowMs - HEARTBEAT_AGE_MS_MAX)
    .executeTakeFirst()
  const open = await view
    .selectFrom('requests')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('state', '=', sql.lit('open'))
    .executeTakeFirst()
  return { instances: Number(alive?.count ?? 0), openHolds: Number(open?.count ?? 0) }
}
