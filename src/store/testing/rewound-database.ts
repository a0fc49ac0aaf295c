import { Client } from 'pg'
import { createPostgresDatabase } from './postgres.ts'
import type { TestDatabase } from './test-databases.ts'

/** A database on the server of this test run that can be put back to an earlier state, as a lost primary does. */
export interface RewoundDatabase extends TestDatabase {
  /** Keeps the database as it is now, to go back to. Cuts every connection. */
  keep(): Promise<void>
  /** Loses everything that was committed since {@link keep}. Cuts every connection. */
  goBack(): Promise<void>
}

/** A new database with the tables and nothing in them. */
export async function createRewoundDatabase(): Promise<RewoundDatabase> {
  const database = await createPostgresDatabase()
  return {
    ...database,
    keep: () => beside(database, ['create database LIVE_kept template LIVE strategy file_copy']),
    goBack: () =>
      beside(database, [
        'alter database LIVE rename to LIVE_lost',
        'alter database LIVE_kept rename to LIVE',
        'drop database LIVE_lost with (force)',
      ]),
  }
}

/**
 * Runs statements from another database while no client may connect to it: a gateway that connects again between the cut and the
 * statement would make it fail. By position: the database, called `LIVE`; the statements.
 */
async function beside({ url }: TestDatabase, statements: readonly string[]): Promise<void> {
  const adminUrl = new URL(url)
  const name = adminUrl.pathname.slice(1)
  adminUrl.pathname = '/template1'
  const admin = new Client(adminUrl.href)
  await admin.connect()
  await admin.query(`alter database ${name} allow_connections false`)
  await admin.query(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
  )
  for (const statement of statements) await admin.query(statement.replaceAll('LIVE', name))
  await admin.query(`alter database ${name} allow_connections true`)
  await admin.end()
}
