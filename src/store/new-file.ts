import { existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StoreUnavailable } from './store-unavailable.ts'

/** There is a file already where a new one was to be written. */
export class FileExists extends Error {
  override readonly name = 'FileExists'
}

/**
 * Writes a file that is not there yet and that nobody but its owner may read: it has its name only once
 * it is whole and on the disk. `write` is given the file of another name that becomes it, open and
 * empty. Throws `FileExists`; `StoreUnavailable` where it can't be made; what `write` throws.
 */
export async function writeNewFile<T>(
  file: string,
  write: (partial: NewFile) => Promise<T>,
): Promise<T> {
  if (existsSync(file)) throw new FileExists(`${file} is there already: name another file`)
  const path = `${file}.partial`
  const handle = await make(path)
  try {
    const written = await write({ path, handle })
    await handle.sync()
    await handle.close()
    await rename(path, file)
    return written
  } catch (error) {
    await handle.close()
    await rm(path, { force: true })
    throw error
  }
}

/** A file that is being written. */
export interface NewFile {
  readonly path: string
  readonly handle: FileHandle
}

async function make(path: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(path), { recursive: true })
    // Of a process that was killed; and whoever made it otherwise must not choose who may read ours.
    await rm(path, { force: true })
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw new StoreUnavailable(`the file ${path} can't be made`, { cause: error })
  }
}
