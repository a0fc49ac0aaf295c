import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'
import { StoreUnavailable } from '../store-failure.ts'

/**
 * Copies one moment of a SQLite store to a new file that only its owner may read, while other processes read and
 * write the store. `onCopy` is called with the path of the partial file.
 * Throws `WrongPlace`; `StoreUnavailable` where it can't be written.
 */
export async function backupStore(
  db: Kysely<Tables>,
  { file, onCopy }: { readonly file: string; readonly onCopy?: (partial: string) => void },
): Promise<void> {
  await writeNewFile(file, async (partial) => {
    onCopy?.(partial)
    await sql`vacuum into ${partial}`.execute(db)
  })
}

/**
 * Copies a SQLite store before it is migrated to `<file>.before-<next version>`, or to the next free name if
 * there is an earlier copy. Only its owner may read the copy, which has its name once it is whole. Returns its path.
 */
export async function copyAside(
  db: Kysely<Tables>,
  file: string,
  version: number,
): Promise<string> {
  removeLeftCopies(file)
  const copy = freeName(`${file}.before-${version + 1}`)
  await backupStore(db, { file: copy })
  return copy
}

/**
 * Removes the partial copies of starts that were killed: a supervisor that repeats such a start would fill the disk with
 * them. Only one process at a time migrates a store.
 */
function removeLeftCopies(file: string): void {
  const folder = dirname(file)
  for (const name of readdirSync(folder)) {
    const [, stem] = /^(.+)\.before-[\d.]+\.[\da-f]{12}\.partial(?:-journal)?$/.exec(name) ?? []
    if (stem === basename(file)) rmSync(join(folder, name))
  }
}

/** The newest copy of `copyAside` whose schema is at most `version`; null: there is none. */
export function findCopyAside(file: string, version: number): string | null {
  const copies = readdirSync(dirname(file)).flatMap((name) => {
    const [, stem, next, count = '1'] = /^(.+)\.before-(\d+)(?:\.(\d+))?$/.exec(name) ?? []
    if (stem !== basename(file) || Number(next) > version + 1) return []
    return [{ name, next: Number(next), count: Number(count) }]
  })
  const newest = copies.sort((a, b) => a.next - b.next || a.count - b.count).at(-1)
  return newest === undefined ? null : join(dirname(file), newest.name)
}

function freeName(name: string): string {
  let free = name
  for (let copies = 2; existsSync(free); copies++) free = `${name}.${copies}`
  return free
}

/** A new file can't be created: the file exists, or its folder does not. */
export class WrongPlace extends Error {
  override readonly name = 'WrongPlace'
}

/**
 * Writes a new file that only its owner may read. The file gets its name only after it is complete and on
 * the disk: `write` fills an empty file of another name, which remains only if the process is killed.
 * Throws `WrongPlace`; `StoreUnavailable` if it can't be made; and the errors of `write`.
 */
export async function writeNewFile(
  file: string,
  write: (partial: string) => Promise<void>,
): Promise<void> {
  refuseExisting(file)
  const folder = dirname(file)
  if (!existsSync(folder)) throw new WrongPlace(`there is no folder ${folder}: create it first`)
  // A unique name: two writers at once must not write to the same partial file.
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
  // `make` refuses a name that cannot be looked up.
  if (!existsSync(file)) return
  const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
  if (isFolder) throw new WrongPlace(`${file} is a folder: name a new file in it`)
  throw new WrongPlace(`${file} exists already: name another file`)
}

async function make(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    throw new StoreUnavailable(`the file ${path} can't be created`, { cause: error })
  }
}
