import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { bringUpToDate, type UpToDateInput } from '../migrate.ts'
import { openPageReads } from '../page-reads.ts'
import type { Tables } from '../schema.ts'
import type { Store } from '../store.ts'
import { StoreRefused, StoreUnavailable } from '../store-failure.ts'
import { copyAside, findCopyAside } from './backup.ts'
import { fileIdentity, type SqliteConnectionInput } from './sqlite-connection.ts'
import type { SqlJob, SqlResult } from './sqlite-statements.ts'
import { StoreThread } from './store-thread.ts'

/** `openStore` for a SQLite file. Creates the file, which only its owner may read, and its folder. */
export async function openSqliteStore(
  {
    file,
    busyTimeoutMs,
    searchTimeoutMs,
  }: Omit<SqliteConnectionInput, 'readOnly'> & { readonly searchTimeoutMs: number },
  upToDate: UpToDateInput,
): Promise<Store> {
  makeFolder(dirname(file))
  makeFile(file)
  // One for all connections: a thread that starts later must not open another file.
  const identity = fileIdentity(file)
  const place = { file, identity, busyTimeoutMs }
  const connect = (readOnly: boolean) =>
    new Kysely<Tables>({ dialect: sqliteThreadDialect({ ...place, readOnly }) })
  const db = connect(false)
  try {
    await bringUpToDate(db, {
      ...upToDate,
      beforeMigration: (version) => copyAside(db, file, version),
      findCopy: (version) => findCopyAside(file, version),
    })
  } catch (error) {
    await db.destroy()
    throw error
  }
  const reports = connect(true)
  const pages = openPageReads(sqliteThreadDialect({ ...place, readOnly: true }), {
    connectionsMax: 1,
  })
  const searches = openPageReads(
    sqliteThreadDialect({ ...place, readOnly: true }, searchTimeoutMs),
    { connectionsMax: 1 },
  )
  const views = new Set<Kysely<Tables>>()
  return {
    location: { kind: 'sqlite', file, identity },
    db,
    reports,
    pages: pages.reads,
    searches: searches.reads,
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
      // An open reader prevents the checkpoint that `db` makes on closing, so `db` is closed last.
      await Promise.all([
        ...[reports, ...views].map((one) => one.destroy()),
        pages.close(),
        searches.close(),
      ])
      await db.destroy()
    },
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new StoreUnavailable(`the store's folder ${folder} can't be created`, { cause: error })
  }
}

/** Creates the file before SQLite would: it contains the secret of account tags, so only its owner may read it. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return
    throw new StoreUnavailable(`the store's file ${file} can't be created`, { cause: error })
  }
}

/**
 * Kysely over `node:sqlite` in a worker thread: the event loop never waits for the disk. One
 * connection; a transaction has it to itself, and takes SQLite's write lock when it begins unless the
 * connection is read-only.
 */
export function sqliteThreadDialect(
  input: SqliteConnectionInput,
  statementTimeoutMs?: number,
): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteThreadDriver(input, statementTimeoutMs),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

class SqliteThreadDriver implements Driver {
  readonly #thread: StoreThread<SqlJob, SqlResult>
  readonly #begin: string
  readonly #connection: SqliteThreadConnection
  // Resolves when the connection is given back.
  #free: Promise<void> = Promise.resolve()
  readonly #release: (() => void)[] = []

  constructor(input: SqliteConnectionInput, jobTimeoutMs: number | undefined) {
    this.#thread = new StoreThread({
      entry: new URL('./sqlite-statements.ts', import.meta.url),
      startWith: input,
      jobTimeoutMs,
    })
    this.#connection = new SqliteThreadConnection(this.#thread)
    // A deferred transaction that reads and then writes can fail without having waited for the lock.
    this.#begin = input.readOnly === true ? 'begin' : 'begin immediate'
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const free = this.#free
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#free = promise
    this.#release.push(resolve)
    await free
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#release.shift()?.()
  }

  async beginTransaction(): Promise<void> {
    await this.#thread.call({ sql: this.#begin, parameters: [] })
  }

  async commitTransaction(): Promise<void> {
    await this.#thread.call({ sql: 'commit', parameters: [] })
  }

  async rollbackTransaction(): Promise<void> {
    try {
      await this.#thread.call({ sql: 'rollback', parameters: [] })
    } catch (error) {
      // SQLite has already rolled back after a full disk or an I/O error; the caller wants that
      // error, not this one.
      if (!(error instanceof StoreRefused)) throw error
    }
  }

  async destroy(): Promise<void> {
    await this.#thread.close()
  }
}

class SqliteThreadConnection implements DatabaseConnection {
  readonly #thread: StoreThread<SqlJob, SqlResult>

  constructor(thread: StoreThread<SqlJob, SqlResult>) {
    this.#thread = thread
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    // Parameters come from the typed tables, whose columns are only text, integers and null.
    const parameters = query.parameters as readonly SQLInputValue[]
    const { rows, changes } = await this.#thread.call({ sql: query.sql, parameters })
    // Kysely's contract: the type of a row is what the query builder inferred from the tables.
    return { rows: rows as R[], numAffectedRows: BigInt(changes) }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for it; nothing here streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('rows are read by pages, not streamed')
  }
}
