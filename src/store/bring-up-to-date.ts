import type { Kysely } from 'kysely'
import { migrate, refuseNewer, SchemaMismatch, schemaVersion } from './migrate.ts'
import type { Migration } from './migrations/migrations.ts'
import type { Tables } from './schema.ts'

/** Which schema a store is to have, and whether it may be changed. */
export interface UpToDateInput {
  readonly migrateStore: 'ifEmpty' | 'always'
  readonly migrations: readonly Migration[]
  readonly nowMs: number
}

interface BringUpToDateInput extends UpToDateInput {
  /** Called with the schema of a store that has one, before it is changed. */
  readonly beforeMigration?: (version: number) => Promise<unknown>
}

/** Makes the tables of an empty store, and changes an older one where that is asked for. Throws `SchemaMismatch`. */
export async function bringUpToDate(db: Kysely<Tables>, input: BringUpToDateInput): Promise<void> {
  const { migrations, migrateStore, nowMs } = input
  const newest = migrations.at(-1)?.number ?? 0
  const version = await schemaVersion(db)
  refuseNewer(version, migrations)
  if (version === newest) return
  if (version > 0) {
    if (migrateStore !== 'always') {
      throw new SchemaMismatch(
        `the store has schema ${version} and this program needs ${newest}: ` +
          'start `tollgate serve` once, which migrates it',
      )
    }
    await input.beforeMigration?.(version)
  }
  await migrate({ db, migrations, nowMs })
}
