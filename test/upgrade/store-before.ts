import { sql } from 'kysely'
import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { databaseOfTest, type TestDatabase } from '../../src/store/testing/test-databases.ts'

/** Opens an empty store on the schema before the migration of this number. */
export async function openStoreBefore(database: TestDatabase, migration: number): Promise<Store> {
  await emptyDatabase(database)
  const migrations = MIGRATIONS.filter(({ number }) => number < migration)
  return openStore({ url: database.url, migrations })
}

/**
 * An empty store on the schema before the migration of this number, in a new database, until it is upgraded and to the end of
 * the test.
 */
export async function storeBefore(create: () => Promise<TestDatabase>, migration: number) {
  const database = await databaseOfTest(create)
  const old = await openStoreBefore(database, migration)
  /** Closes it, and opens it with the present schema. */
  const upgraded = async (): Promise<Store> => {
    await old.close()
    const store = await openStore({ url: database.url, migrateStore: 'always' })
    onTestFinished(() => store.close())
    return store
  }
  return { old, upgraded }
}

/** Drops the tables of today that a test's database on PostgreSQL begins with; a file of SQLite has none. */
async function emptyDatabase({ url }: TestDatabase): Promise<void> {
  if (!url.startsWith('postgres')) return
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
}

/** A row as SQL writes it, by column. */
export type RowBefore = Readonly<Record<string, string | number | null>>

/** Inserts rows into a store with a schema of before. By position: the store, the table, its rows. */
export async function insertBefore(
  { db }: Store,
  table: string,
  rows: readonly RowBefore[],
): Promise<void> {
  for (const row of rows) {
    const columns = Object.keys(row).map((name) => sql.ref(name))
    const values = Object.values(row).map((value) => sql.lit(value))
    await sql`insert into ${sql.table(table)} (${sql.join(columns)}) values (${sql.join(values)})`.execute(
      db,
    )
  }
}
