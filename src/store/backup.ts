import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { StoreUnavailable } from './store-unavailable.ts'
import type { Tables } from './tables.ts'

/** There is a file already where a backup was to be written. */
export class BackupExists extends Error {
  override readonly name = 'BackupExists'
}

/**
 * Copies a SQLite store, as it is at one moment, to a file that is not there yet, while others go on
 * reading and writing. The file has its name only once it is whole. Throws `BackupExists`;
 * `StoreUnavailable` where it can't be written.
 */
export async function backupStore(db: Kysely<Tables>, file: string): Promise<void> {
  if (existsSync(file)) throw new BackupExists(`${file} is there already: name another file`)
  await makeFolder(dirname(file))
  const partial = `${file}.partial`
  await rm(partial, { force: true })
  try {
    await sql`vacuum into ${partial}`.execute(db)
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    throw new StoreUnavailable(`the folder ${folder} can't be made`, { cause: error })
  }
}
