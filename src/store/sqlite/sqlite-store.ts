import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { Kysely } from 'kysely'
import { bringUpToDate, type UpToDateInput } from '../bring-up-to-date.ts'
import type { DatabaseLocation } from '../database-url.ts'
import type { Store } from '../open-store.ts'
import type { Tables } from '../schema.ts'
import { StoreUnavailable } from '../store-unavailable.ts'
import { copyAside } from './copy-aside.ts'
import { sqliteThreadDialect } from './sqlite-dialect.ts'

/** Which file, and how to wait for others that write to it. */
type SqliteStoreInput = Extract<DatabaseLocation, { kind: 'sqlite' }> & {
  /** Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** As `openStore`: a SQLite file, made with its folder where there is none, for its owner alone. */
export async function openSqliteStore(
  input: SqliteStoreInput,
  upToDate: UpToDateInput,
): Promise<Store> {
  const { file } = input
  makeFolder(dirname(file))
  makeFile(file)
  const busy = input.busyTimeoutMs === undefined ? {} : { busyTimeoutMs: input.busyTimeoutMs }
  const connect = (readOnly: boolean) =>
    new Kysely<Tables>({ dialect: sqliteThreadDialect({ file, readOnly, ...busy }) })
  const db = connect(false)
  try {
    await bringUpToDate(db, {
      ...upToDate,
      beforeMigration: (version) => copyAside({ db, file, version }),
    })
  } catch (error) {
    await db.destroy()
    throw error
  }
  const reports = connect(true)
  const pages = connect(true)
  const views = new Set<Kysely<Tables>>()
  return {
    location: { kind: 'sqlite', file },
    db,
    reports,
    pages,
    async snapshot(read) {
      const view = connect(true)
      views.add(view)
      try {
        return await view.transaction().execute(read)
      } finally {
        await view.destroy()
        views.delete(view)
      }
    },
    async close() {
      // A connection that reads keeps the log from being written into the file, so `db` is closed last.
      await Promise.all([reports, pages, ...views].map((reader) => reader.destroy()))
      await db.destroy()
    },
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new StoreUnavailable(`the store's folder ${folder} can't be made`, { cause: error })
  }
}

/** A store holds the secret behind account tags, so that SQLite is not left to make it for everybody. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return
    throw new StoreUnavailable(`the store's file ${file} can't be made`, { cause: error })
  }
}
