import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type { DatabaseLocation } from '../database-url.ts'
import { bringUpToDate, type UpToDateInput } from '../migrate.ts'
import { openPageReads } from '../page-reads.ts'
import type { Tables } from '../schema.ts'
import { inOneView, type Store } from '../store.ts'
import { ReadRefused } from '../store-failure.ts'
import { type OpenPoolInput, openPostgresPool } from './postgres-connection.ts'
import { isCancelled, keepsConnection, postgresFailure } from './postgres-failure.ts'
import type { PostgresPool } from './postgres-pool.ts'
import { PostgresServers, refuseSharedSessions } from './postgres-servers.ts'

// The ledger's writer has a separate connection.
const DB_CONNECTIONS_MAX = 6
const REPORT_CONNECTIONS_MAX = 3
const PAGE_CONNECTIONS_MAX = 3

/** `openStore` for a database of a PostgreSQL server, which must exist. */
export async function openPostgresStore(
  {
    searchTimeoutMs,
    ...location
  }: Extract<DatabaseLocation, { kind: 'postgres' }> & { readonly searchTimeoutMs: number },
  upToDate: UpToDateInput,
): Promise<Store> {
  // Before anything is written. A report would also leave a session read-only, which the next writer may get.
  await refuseSharedSessions(location.url)
  const servers = new PostgresServers(location.url)
  const connect = (pool: Omit<OpenPoolInput, 'servers'>) =>
    new Kysely<Tables>({ dialect: poolDialect({ servers, ...pool }) })
  const migrations = connect({ connectionsMax: 1, use: 'migrations' })
  try {
    await bringUpToDate(migrations, upToDate)
  } finally {
    await migrations.destroy()
  }
  const db = connect({ connectionsMax: DB_CONNECTIONS_MAX, use: 'shortStatements' })
  const reports = connect({ connectionsMax: REPORT_CONNECTIONS_MAX, use: 'longReads' })
  const connectionsMax = PAGE_CONNECTIONS_MAX
  const pages = openPageReads(poolDialect({ servers, connectionsMax, use: 'longReads' }), {
    connectionsMax,
  })
  const statementTimeoutMs = searchTimeoutMs
  const searches = openPageReads(
    poolDialect({ servers, connectionsMax, use: 'longReads', statementTimeoutMs }),
    { connectionsMax },
  )
  return {
    location,
    db,
    reports,
    pages: pages.reads,
    searches: searches.reads,
    snapshot: (read) => inOneView(reports, read),
    async close() {
      await Promise.all([db.destroy(), reports.destroy(), pages.close(), searches.close()])
    },
  }
}

/** Kysely over a pool of connections to PostgreSQL, with the store's own errors. */
export function postgresPoolDialect({
  url,
  ...pool
}: Omit<OpenPoolInput, 'servers'> & { readonly url: string }): Dialect {
  return poolDialect({ ...pool, servers: new PostgresServers(url) })
}

function poolDialect(input: OpenPoolInput): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresPoolDriver(input),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PostgresPoolDriver implements Driver {
  readonly #pool: PostgresPool
  readonly #endsStatements: boolean

  constructor(input: OpenPoolInput) {
    this.#pool = openPostgresPool(input)
    this.#endsStatements = input.statementTimeoutMs !== undefined
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    const pooled = await this.#pool.acquire()
    return new PooledConnection(this.#pool, { pooled, endsStatements: this.#endsStatements })
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release()
  }

  async beginTransaction(
    connection: PooledConnection,
    { isolationLevel, accessMode }: TransactionSettings,
  ): Promise<void> {
    await connection.run(
      `begin isolation level ${isolationLevel ?? 'read committed'} ${accessMode ?? ''}`,
    )
  }

  async commitTransaction(connection: PooledConnection): Promise<void> {
    await connection.run('commit')
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    // After a lost connection there is nothing to roll back, and the caller needs the first error.
    if (connection.isUsable) await connection.run('rollback').catch(() => {})
  }

  async destroy(): Promise<void> {
    await this.#pool.close()
  }
}

type Pooled = Awaited<ReturnType<PostgresPool['acquire']>>

class PooledConnection implements DatabaseConnection {
  readonly #pool: PostgresPool
  readonly #pooled: Pooled
  /** Whether its statements have a time limit. */
  readonly #endsStatements: boolean
  #isUsable = true

  constructor(
    pool: PostgresPool,
    { pooled, endsStatements }: { readonly pooled: Pooled; readonly endsStatements: boolean },
  ) {
    this.#pool = pool
    this.#pooled = pooled
    this.#endsStatements = endsStatements
    pooled.client.on('error', this.#onError)
  }

  readonly #onError = (): void => {
    this.#isUsable = false
  }

  /** False once an error has said that the connection may be broken. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  async run(text: string, values: unknown[] = []) {
    const { client, serverName } = this.#pooled
    try {
      return await client.query(text, values)
    } catch (error) {
      if (!keepsConnection(error)) this.#isUsable = false
      if (this.#endsStatements && isCancelled(error)) {
        throw new ReadRefused('tooLong', { cause: error })
      }
      throw postgresFailure(error, serverName)
    }
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, rowCount } = await this.run(sql, [...parameters])
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for it; nothing here streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('rows are read by pages, not streamed')
  }

  /** Returns the connection to the pool, or ends it if it may be broken. */
  release(): void {
    this.#pooled.client.off('error', this.#onError)
    this.#pool.release(this.#pooled, this.#isUsable)
  }
}
