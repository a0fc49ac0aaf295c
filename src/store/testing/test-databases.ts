import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgresDatabase } from './postgres.ts'

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

/** A SQLite file in a folder of its own, with nothing in it. */
export async function createSqliteFile(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-store-'))
  return {
    url: `sqlite:${join(folder, 'store.db')}`,
    remove: () => rm(folder, { recursive: true }),
  }
}
