import { Client } from 'pg'
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'

/** Opens an empty store on the schema before the migration of this number. */
export async function openStoreBefore(database: TestDatabase, migration: number): Promise<Store> {
  await emptyDatabase(database)
  const migrations = MIGRATIONS.filter(({ number }) => number < migration)
  return openStore({ url: database.url, migrations })
}

/** Drops the tables of today that a test's database on PostgreSQL begins with; a file of SQLite has none. */
async function emptyDatabase({ url }: TestDatabase): Promise<void> {
  if (!url.startsWith('postgres')) return
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
}
