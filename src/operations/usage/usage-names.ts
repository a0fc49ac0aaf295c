import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'

const NAMES_AT_ONCE = 1_000

/** The names of accounts or API keys by their IDs; null: an account has none. By position: the store, the table and the IDs. */
export async function readNames(
  db: Kysely<Tables>,
  table: 'accounts' | 'api_keys',
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string | null>> {
  const distinct = [...new Set(ids)]
  const names = new Map<string, string | null>()
  for (let at = 0; at < distinct.length; at += NAMES_AT_ONCE) {
    const some = distinct.slice(at, at + NAMES_AT_ONCE)
    const query = db.selectFrom(table).select(['id', 'name']).where('id', 'in', some)
    for (const { id, name } of await query.execute()) names.set(id, name)
  }
  return names
}
