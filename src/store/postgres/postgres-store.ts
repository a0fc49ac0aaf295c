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
import type { Pool, PoolClient } from 'pg'
import type { DatabaseLocation } from '../database-url.ts'
import { bringUpToDate, type UpToDateInput } from '../migrate.ts'
import type { Store } from '../open-store.ts'
import type { Tables } from '../schema.ts'
import { openPostgresPool, type PostgresPoolInput, postgresFailure } from './postgres-connection.ts'

// The ledger's writer has a separate connection.
const DB_CONNECTIONS_MAX = 6
const REPORT_CONNECTIONS_MAX = 3
const PAGE_CONNECTIONS_MAX = 3

/** `openStore` for a database of a PostgreSQL server, which must exist. */
export async function openPostgresStore(
  location: Extract<DatabaseLocation, { kind: 'postgres' }>,
  upToDate: UpToDateInput,
): Promise<Store> {
  const { url } = location
  const connect = (pool: Omit<PostgresPoolInput, 'url'>) =>
    new Kysely<Tables>({ dialect: postgresPoolDialect({ url, ...pool }) })
  const migrations = connect({ connectionsMax: 1, use: 'migrations' })
  try {
    await bringUpToDate(migrations, upToDate)
  } finally {
    await migrations.destroy()
  }
  const db = connect({ connectionsMax: DB_CONNECTIONS_MAX, use: 'shortStatements' })
  const reports = connect({ connectionsMax: REPORT_CONNECTIONS_MAX, use: 'longReads' })
  const pages = connect({ connectionsMax: PAGE_CONNECTIONS_MAX, use: 'longReads' })
  return {
    location,
    db,
    reports,
    pages,
    snapshot: (read) =>
      reports
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(read),
    async close() {
      await Promise.all([db, reports, pages].map((some) => some.destroy()))
    },
  }
}

/** Kysely over a pool of connections to PostgreSQL, with the store's own errors. */
export function postgresPoolDialect(input: PostgresPoolInput): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresPoolDriver(input),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

class PostgresPoolDriver implements Driver {
  readonly #pool: Pool

  constructor(input: PostgresPoolInput) {
    this.#pool = openPostgresPool(input)
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    try {
      return new PooledConnection(await this.#pool.connect())
    } catch (error) {
      throw postgresFailure(error)
    }
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
    await connection.run('rollback').catch(() => {})
  }

  async destroy(): Promise<void> {
    await this.#pool.end()
  }
}

class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient
  #usable = true

  constructor(client: PoolClient) {
    this.#client = client
    // Statements that fail report it themselves; without a listener, the error would end the process too.
    client.on('error', this.#onError)
  }

  readonly #onError = (): void => {
    this.#usable = false
  }

  async run(text: string, values: unknown[] = []) {
    try {
      return await this.#client.query(text, values)
    } catch (error) {
      const failure = postgresFailure(error)
      if (failure.name === 'StoreUnavailable') this.#usable = false
      throw failure
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
    this.#client.off('error', this.#onError)
    this.#client.release(!this.#usable)
  }
}
