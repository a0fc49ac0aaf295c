import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { AUTHENTICATOR_APPS } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'

/** A second factor as its user sees it. */
interface OwnFactor {
  readonly id: string
  readonly kind: 'app'
  readonly createdAtMs: number
  /** Null: not since it was added. */
  readonly lastUsedAtMs: number | null
}

/** Selects whether the user of a row has a second factor, for {@link readHasFactor}. */
export function selectHasFactor(build: ExpressionBuilder<Tables, 'users'>) {
  const apps = build.selectFrom('authenticator_apps').select('authenticator_apps.id')
  return build.exists(apps.whereRef('authenticator_apps.user_id', '=', 'users.id')).as('has_factor')
}

/** SQLite has 1 for true. */
export function readHasFactor(row: { readonly has_factor: unknown }): boolean {
  return Number(row.has_factor) === 1
}

/** The second factors of a user, in the order in which they were added. */
export async function listFactors(
  db: Kysely<Tables>,
  userId: string,
): Promise<readonly OwnFactor[]> {
  const apps = await db
    .selectFrom('authenticator_apps')
    .selectAll()
    .where('user_id', '=', userId)
    .execute()
  return apps.map((row) => {
    const { id, createdAtMs, lastUsedAtMs } = AUTHENTICATOR_APPS.read(row)
    return { id, kind: 'app', createdAtMs, lastUsedAtMs }
  })
}

/** How many of a user's recovery codes were not used. */
export async function countRecoveryCodes(db: Kysely<Tables>, userId: string): Promise<number> {
  const row = await db
    .selectFrom('recovery_codes')
    .select(({ fn }) => fn.countAll().as('left'))
    .where('user_id', '=', userId)
    .where('used_at_ms', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(row.left)
}

/** Takes the second factors from a user, and the recovery codes. */
export async function dropFactors(trx: Transaction<Tables>, userId: string): Promise<void> {
  await trx.deleteFrom('authenticator_apps').where('user_id', '=', userId).execute()
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
}
