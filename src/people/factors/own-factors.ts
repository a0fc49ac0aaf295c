import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { AUTHENTICATOR_APPS, PASSKEYS, type PasskeyRow } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'

/** A second factor as its user sees it. */
type OwnFactor = {
  readonly id: string
  readonly createdAtMs: number
  /** Null: not since it was added. */
  readonly lastUsedAtMs: number | null
} & (
  | { readonly kind: 'app' }
  | {
      readonly kind: 'passkey'
      readonly name: string
      /** The host name of the page that it was made on. */
      readonly host: string
    }
)

/** Selects whether the user of a row has a second factor, for {@link readHasFactor}. */
export function selectHasFactor(build: ExpressionBuilder<Tables, 'users'>) {
  const apps = build.selectFrom('authenticator_apps').select('authenticator_apps.id')
  const passkeys = build.selectFrom('passkeys').select('passkeys.id')
  return build
    .or([
      build.exists(apps.whereRef('authenticator_apps.user_id', '=', 'users.id')),
      build.exists(passkeys.whereRef('passkeys.user_id', '=', 'users.id')),
    ])
    .as('has_factor')
}

/** SQLite has 1 for true. */
export function readHasFactor(row: { readonly has_factor: unknown }): boolean {
  return Number(row.has_factor) === 1
}

/** The second factors of a user, an app before passkeys in the order in which they were added. */
export async function listFactors(
  db: Kysely<Tables>,
  userId: string,
): Promise<readonly OwnFactor[]> {
  const rows = await db
    .selectFrom('authenticator_apps')
    .selectAll()
    .where('user_id', '=', userId)
    .execute()
  const apps = rows.map((row) => {
    const { id, createdAtMs, lastUsedAtMs } = AUTHENTICATOR_APPS.read(row)
    return { kind: 'app', id, createdAtMs, lastUsedAtMs } as const
  })
  const passkeys = (await listPasskeys(db, { userId })).map(
    ({ id, name, host, createdAtMs, lastUsedAtMs }) =>
      ({ kind: 'passkey', id, name, host, createdAtMs, lastUsedAtMs }) as const,
  )
  return [...apps, ...passkeys]
}

/** The passkeys of a user, in the order in which they were added. */
export async function listPasskeys(
  db: Kysely<Tables>,
  {
    userId,
    host = null,
  }: {
    readonly userId: string
    /** The host name of the page that they were made on. Default: any. */
    readonly host?: string | null
  },
): Promise<readonly PasskeyRow[]> {
  return PASSKEYS.readAll(
    db
      .selectFrom('passkeys')
      .selectAll()
      .where('user_id', '=', userId)
      .$if(host !== null, (query) => query.where('host', '=', host))
      .orderBy('id'),
  )
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
  for (const table of ['authenticator_apps', 'passkeys', 'recovery_codes'] as const) {
    await trx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}
