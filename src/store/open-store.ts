import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Kysely } from 'kysely'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { copyAside } from './copy-aside.ts'
import { parseDatabaseUrl } from './database-url.ts'
import { migrate, refuseNewer, SchemaMismatch, schemaVersion } from './migrate.ts'
import { MIGRATIONS, type Migration } from './migrations/migrations.ts'
import { sqliteThreadDialect } from './sqlite-dialect.ts'
import { StoreUnavailable } from './store-unavailable.ts'
import type { Tables } from './tables.ts'

export interface OpenStoreInput {
  /** `DATABASE_URL`; unset or empty: `./data/tollgate.db`. */
  readonly url?: string | undefined
  /** Default the system's. */
  readonly clock?: Clock
  /**
   * `ifEmpty` (the default) makes the tables of an empty store and refuses one of an older schema;
   * `always` copies an older one aside and migrates it, for `serve` alone, once it has the serve lock.
   */
  readonly migrateStore?: 'ifEmpty' | 'always'
  /** Default all that the program has. */
  readonly migrations?: readonly Migration[]
  /** How long a statement waits for another process's write. Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** An open store: everything off the path of a request goes through it. */
export interface Store {
  /** The SQLite file, absolute. */
  readonly file: string
  /** Short reads, such as those of authentication, and admin writes; transactions take the write lock. */
  readonly db: Kysely<Tables>
  /** Long reads, such as lists for pages, on a connection of their own. Read-only. */
  readonly reports: Kysely<Tables>
  /** Runs `read` on one unchanging view of the store and a connection of its own. Read-only. */
  snapshot<T>(read: (view: Kysely<Tables>) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Opens the store, making its folder and tables where there are none. Throws `SchemaMismatch` where
 * its schema is not the program's, `StoreUnavailable` where it can't be opened.
 */
export async function openStore(input: OpenStoreInput = {}): Promise<Store> {
  const { file } = parseDatabaseUrl(input.url)
  makeFolder(dirname(file))
  const busy = input.busyTimeoutMs === undefined ? {} : { busyTimeoutMs: input.busyTimeoutMs }
  const connect = (readOnly: boolean) =>
    new Kysely<Tables>({ dialect: sqliteThreadDialect({ file, readOnly, ...busy }) })
  const db = connect(false)
  try {
    await bringUpToDate({ ...input, db, file })
  } catch (error) {
    await db.destroy()
    throw error
  }
  const reports = connect(true)
  return {
    file,
    db,
    reports,
    async snapshot(read) {
      const view = connect(true)
      try {
        return await view.transaction().execute(read)
      } finally {
        await view.destroy()
      }
    },
    async close() {
      await Promise.all([db.destroy(), reports.destroy()])
    },
  }
}

async function bringUpToDate(
  input: OpenStoreInput & { readonly db: Kysely<Tables>; readonly file: string },
): Promise<void> {
  const migrations = input.migrations ?? MIGRATIONS
  const newest = migrations.at(-1)?.number ?? 0
  const version = await schemaVersion(input.db)
  refuseNewer(version, migrations)
  if (version === newest) return
  if (version > 0) {
    if (input.migrateStore !== 'always') {
      throw new SchemaMismatch(
        `the store has schema ${version} and this program needs ${newest}: ` +
          'start `tollgate serve` once, which copies the store aside and migrates it',
      )
    }
    await copyAside({ db: input.db, file: input.file, version })
  }
  const clock = input.clock ?? systemClock
  await migrate({ db: input.db, migrations, nowMs: clock.nowMs() })
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new StoreUnavailable(`the store's folder ${folder} can't be made`, { cause: error })
  }
}
