import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../open-store.ts'
import { makeStoreFolder } from './store-folder.ts'

let made: Promise<Buffer> | undefined

/**
 * Writes a SQLite store with the tables and nothing in them, for tests of what comes after. It is made once in a
 * worker: its making is a tenth of what a gateway's start costs.
 */
export async function writeMadeStore(file: string): Promise<void> {
  made ??= makeStore()
  writeFileSync(file, await made, { mode: 0o600 })
}

async function makeStore(): Promise<Buffer> {
  const folder = makeStoreFolder('made')
  const file = join(folder, 'store.db')
  const store = await openStore({ url: `sqlite:${file}` })
  // Writes the log into the file.
  await store.close()
  const bytes = readFileSync(file)
  rmSync(folder, { recursive: true })
  return bytes
}
