import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreUnavailable } from './store-unavailable.ts'

/** A new file can't be where it was asked for: there is one, or there is no such folder. */
export class WrongPlace extends Error {
  override readonly name = 'WrongPlace'
}

/**
 * Writes a file that is not there yet and that nobody but its owner may read: it has its name only once
 * it is whole and on the disk. `write` fills an empty file of another name, which only a process that is
 * killed leaves behind. Throws `WrongPlace`; `StoreUnavailable` where it can't be made; what `write`
 * throws.
 */
export async function writeNewFile(
  file: string,
  write: (partial: string) => Promise<void>,
): Promise<void> {
  refuseExisting(file)
  const folder = dirname(file)
  if (!existsSync(folder)) throw new WrongPlace(`there is no folder ${folder}: make it first`)
  // A name that nobody else writes by: of two at once, neither is to finish the other's half.
  const path = `${file}.${randomBytes(6).toString('hex')}.partial`
  const handle = await make(path)
  try {
    await write(path)
    await handle.sync()
    await handle.close()
    refuseExisting(file)
    await rename(path, file)
  } catch (error) {
    await handle.close()
    await rm(path, { force: true })
    throw error
  }
}

function refuseExisting(file: string): void {
  if (existsSync(file)) throw new WrongPlace(`${file} is there already: name another file`)
}

async function make(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw new StoreUnavailable(`the file ${path} can't be made`, { cause: error })
  }
}
