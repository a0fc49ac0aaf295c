import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'

/** States of a hold that is not settled. */
const UNSETTLED_STATES = ['open', 'provisional', 'unresolved'] as const

/** The holds of one state. */
export interface HoldCount {
  readonly state: (typeof UNSETTLED_STATES)[number]
  readonly holds: number
  /** When the request of the oldest came; null: there is none. */
  readonly oldestOpenedAtMs: number | null
}

/**
 * The unsettled holds of the whole store, whoever opened them. Goes through the index of unsettled
 * requests alone, so that it costs what is unsettled and not what was ever asked; the ids of requests
 * sort by when they came.
 */
export async function countHolds(db: Kysely<Tables>): Promise<readonly HoldCount[]> {
  const counts: HoldCount[] = []
  for (const state of UNSETTLED_STATES) {
    const { holds, oldestId } = await db
      .selectFrom('requests')
      .select(({ fn }) => [
        fn.countAll<number>().as('holds'),
        fn.min<string | null>('id').as('oldestId'),
      ])
      // A literal: the index covers unsettled states alone, which SQLite can't see of a parameter.
      .where('state', '=', sql.lit(state))
      .executeTakeFirstOrThrow()
    const oldest =
      oldestId === null
        ? undefined
        : await db
            .selectFrom('requests')
            .select('opened_at_ms')
            .where('id', '=', oldestId)
            .executeTakeFirst()
    counts.push({ state, holds: Number(holds), oldestOpenedAtMs: oldest?.opened_at_ms ?? null })
  }
  return counts
}
