import type { Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { slicesOf } from '../../vocabulary/slices.ts'

const NAMES_AT_ONCE = 1_000

/** The names of accounts or API keys by their IDs; null: an account has none. By position: the store, the table and the IDs. */
export async function readNames(
  db: Kysely<Tables>,
  table: 'accounts' | 'api_keys',
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string | null>> {
  const distinct = [...new Set(ids)]
  const names = new Map<string, string | null>()
  for (const some of slicesOf(distinct, NAMES_AT_ONCE)) {
    const query = db.selectFrom(table).select(['id', 'name']).where('id', 'in', some)
    for (const { id, name } of await query.execute()) names.set(id, name)
  }
  return names
}

/** The account of an API key. */
export interface KeyOwner {
  readonly account_id: string
  /** Null: it has none. */
  readonly account_name: string | null
}

/** The accounts of API keys by the IDs of the keys. By position: the store, and the IDs. */
export async function readKeyOwners(
  db: Kysely<Tables>,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, KeyOwner>> {
  const distinct = [...new Set(ids)]
  const owners = new Map<string, KeyOwner>()
  for (const some of slicesOf(distinct, NAMES_AT_ONCE)) {
    const rows = await db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(['api_keys.id', 'accounts.id as account_id', 'accounts.name as account_name'])
      .where('api_keys.id', 'in', some)
      .execute()
    for (const { id, ...owner } of rows) owners.set(id, owner)
  }
  return owners
}
