import type { Kysely } from 'kysely'
import { REQUESTS, type RequestRow, type Tables } from '../../store/schema.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../../vocabulary/ids.ts'

// How far back other ids are looked for: ids of generations have no index, which each request would pay for.
const RECENT_MS = 24 * 3_600_000
// Nor among more requests than are read in some milliseconds.
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
    /** When it began; null: that is not known. */
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
  const row = await db
    .selectFrom(near.as('near'))
    .selectAll()
    .where('generation_id', '=', generationId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : REQUESTS.read(row)
}
