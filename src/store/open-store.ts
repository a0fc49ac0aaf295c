import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { parseDatabaseUrl } from './database-url.ts'
import type { MigratedSchemas } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations/migrations.ts'
import { openPostgresStore } from './postgres/postgres-store.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface OpenStoreInput {
  /** `DATABASE_URL`; unset or empty: `./data/tollgate.db`. */
  readonly url?: string | undefined
  /** Default the system's. */
  readonly clock?: Clock
  /**
   * `ifEmpty` (the default) makes the tables of an empty store and refuses one of an older schema;
   * `always` migrates an older one, only for `serve`, and copies a SQLite file aside before it does; `never` also refuses
   * a PostgreSQL database without tables, which may be another one than the caller meant.
   */
  readonly migrateStore?: 'never' | 'ifEmpty' | 'always'
  /** Called before a store with tables is copied aside and migrated, which can take minutes. */
  readonly onMigration?: (schemas: MigratedSchemas) => void
  /** Default all that the program has. */
  readonly migrations?: readonly Migration[]
  /** SQLite: how long a statement waits for another process's write. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined
  /** How long a statement of `searches` may take. Default 20,000. */
  readonly searchTimeoutMs?: number
}

const SEARCH_TIMEOUT_MS_DEFAULT = 20_000

/**
 * Opens the store. Makes its tables, and on SQLite its folder, if there are none. Throws `StoreMissing` with
 * `migrateStore: 'never'`, `SchemaMismatch` if its schema is not the program's, `StoreUnavailable` if it can't be opened.
 */
export function openStore(input: OpenStoreInput = {}): Promise<Store> {
  const location = parseDatabaseUrl(input.url)
  const upToDate = {
    migrateStore: input.migrateStore ?? 'ifEmpty',
    migrations: input.migrations ?? MIGRATIONS,
    nowMs: (input.clock ?? systemClock).nowMs(),
    ...(input.onMigration && { onMigration: input.onMigration }),
  }
  const { busyTimeoutMs, searchTimeoutMs = SEARCH_TIMEOUT_MS_DEFAULT } = input
  return location.kind === 'postgres'
    ? openPostgresStore({ ...location, searchTimeoutMs }, upToDate)
    : openSqliteStore({ ...location, busyTimeoutMs, searchTimeoutMs }, upToDate)
}
