import { Client } from 'pg'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'

/** Drops the tables of today that a test's database on PostgreSQL begins with; a file of SQLite has none. */
export async function emptyDatabase({ url }: TestDatabase): Promise<void> {
  if (!url.startsWith('postgres')) return
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
}
