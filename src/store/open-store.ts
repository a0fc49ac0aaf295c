import type { Kysely } from 'kysely'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { type DatabaseLocation, parseDatabaseUrl } from './database-url.ts'
import { MIGRATIONS, type Migration } from './migrations/migrations.ts'
import { openPostgresStore } from './postgres/postgres-store.ts'
import type { Tables } from './schema.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'

export interface OpenStoreInput {
  /** `DATABASE_URL`; unset or empty: `./data/tollgate.db`. */
  readonly url?: string | undefined
  /** Default the system's. */
  readonly clock?: Clock
  /**
   * `ifEmpty` (the default) makes the tables of an empty store and refuses one of an older schema;
   * `always` migrates an older one, for `serve` alone, and copies a SQLite file aside before it does.
   */
  readonly migrateStore?: 'ifEmpty' | 'always'
  /** Default all that the program has. */
  readonly migrations?: readonly Migration[]
  /** SQLite: how long a statement waits for another process's write. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined
}

/** An open store. The ledger's commands do not go through it; everything else does. */
export interface Store {
  readonly location: DatabaseLocation
  /** Short reads, such as those of authentication, and admin writes. */
  readonly db: Kysely<Tables>
  /** Long reads, such as the audit's, on connections of their own. Read-only. */
  readonly reports: Kysely<Tables>
  /** What the page shows, on connections of their own: no audit holds it up. Not who asks. Read-only. */
  readonly pages: Kysely<Tables>
  /** Runs `read` on one unchanging view of the store and a connection of its own. Read-only. */
  snapshot<T>(read: (view: Kysely<Tables>) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Opens the store. Makes its tables, and on SQLite its folder, if there are none. Throws `SchemaMismatch` if
 * its schema is not the program's, `StoreUnavailable` if it can't be opened.
 */
export function openStore(input: OpenStoreInput = {}): Promise<Store> {
  const location = parseDatabaseUrl(input.url)
  const upToDate = {
    migrateStore: input.migrateStore ?? 'ifEmpty',
    migrations: input.migrations ?? MIGRATIONS,
    nowMs: (input.clock ?? systemClock).nowMs(),
  }
  if (location.kind === 'postgres') return openPostgresStore(location, upToDate)
  return openSqliteStore({ ...location, busyTimeoutMs: input.busyTimeoutMs }, upToDate)
}
