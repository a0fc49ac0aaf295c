import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type OpenStoreInput, openStore } from '../open-store.ts'
import type { Store } from '../store.ts'
import { writeMadeStore } from './made-store.ts'
import { createPostgresDatabase } from './postgres.ts'
import { makeStoreFolder } from './store-folder.ts'

/** A database that a test has for itself. */
export interface TestDatabase {
  readonly url: string
  remove(): Promise<void>
}

/** Every engine that a store can be on, for tests that hold on all of them. */
export const TEST_DATABASES: readonly {
  readonly engine: string
  readonly create: () => Promise<TestDatabase>
}[] = [
  { engine: 'SQLite', create: createSqliteFile },
  { engine: 'PostgreSQL', create: createPostgresDatabase },
]

/** As {@link TEST_DATABASES}, but a SQLite file has its tables too: opening it migrates nothing. */
export const MADE_DATABASES = TEST_DATABASES.map(({ engine, create }) => ({
  engine,
  create: engine === 'SQLite' ? createMadeSqliteFile : create,
}))

/** A SQLite file in its own folder, with empty tables. */
export async function createMadeSqliteFile(): Promise<TestDatabase> {
  const database = await createSqliteFile()
  await writeMadeStore(database.url.replace('sqlite:', ''))
  return database
}

/** An empty SQLite file in its own folder. */
async function createSqliteFile(): Promise<TestDatabase> {
  const folder = makeStoreFolder('store')
  return {
    url: `sqlite:${join(folder, 'store.db')}`,
    remove: () => rm(folder, { recursive: true }),
  }
}

/** A new database, until the end of the test. */
export async function databaseOfTest(create: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await create()
  onTestFinished(() => database.remove())
  return database
}

/** A store on a new database, until the end of the test. */
export async function storeOfTest(
  create: () => Promise<TestDatabase>,
  input: OpenStoreInput = {},
): Promise<Store> {
  const { url } = await databaseOfTest(create)
  const store = await openStore({ url, ...input })
  onTestFinished(() => store.close())
  return store
}
