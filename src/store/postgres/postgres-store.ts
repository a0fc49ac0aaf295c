import { Kysely } from 'kysely'
import { bringUpToDate, type UpToDateInput } from '../bring-up-to-date.ts'
import type { DatabaseLocation } from '../database-url.ts'
import type { Store } from '../open-store.ts'
import type { Tables } from '../schema.ts'
import type { PostgresPoolInput } from './postgres-connection.ts'
import { postgresPoolDialect } from './postgres-dialect.ts'

// The writer of the ledger has a connection of its own beside these.
const DB_CONNECTIONS_MAX = 6
const REPORT_CONNECTIONS_MAX = 3
const PAGE_CONNECTIONS_MAX = 3

/** As `openStore`: a database of a PostgreSQL server, which must exist. */
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
