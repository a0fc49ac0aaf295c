import { closeSync, mkdirSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy, NotSent, type StoreUnavailable } from '../store-failure.ts'

export interface SqliteConnectionInput {
  readonly file: string
  /** The identity of the file, by `fileIdentity` when the server opened its store. Default: any file at the path. */
  readonly identity?: string | undefined
  /** How long a statement waits for another connection's lock. Default {@link BUSY_TIMEOUT_MS_DEFAULT}. */
  readonly busyTimeoutMs?: number | undefined
  /** Default false. */
  readonly readOnly?: boolean
}

/** How long a statement waits for another connection's lock, in milliseconds. */
export const BUSY_TIMEOUT_MS_DEFAULT = 5_000
const LOG_AGAIN_MS = 5

/**
 * The pages of SQLite's log (16 MB) from which on a commit writes them back to the file. A page that many commits change
 * is written back once: at SQLite's own 1,000 pages, this was a sixth of the ledger's CPU under load.
 */
const LOG_PAGES_MAX = 4_000

const NO_FILE = 'none'
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4))

/**
 * Opens a connection. All have the same settings: write-ahead log, every commit synced to the disk, foreign keys
 * enforced. Throws `NotSent` if the file is another one, and the errors of `node:sqlite`.
 */
export function openSqliteConnection(input: SqliteConnectionInput): DatabaseSync {
  // Before SQLite makes a file where there is none, or writes to one that was put there.
  samePlaceCheck(input)(NotSent)
  const timeout = input.busyTimeoutMs ?? BUSY_TIMEOUT_MS_DEFAULT
  const connection = new DatabaseSync(input.file, {
    readOnly: input.readOnly ?? false,
    enableForeignKeyConstraints: true,
    timeout,
  })
  try {
    if (input.readOnly !== true) {
      writeAhead(connection, timeout)
      connection.exec(`pragma wal_autocheckpoint = ${LOG_PAGES_MAX}`)
      // SQLite makes the log at the first read, and keeps it as long as a connection has it.
      connection.prepare('pragma schema_version').get()
    }
    connection.exec('pragma synchronous = full')
  } catch (error) {
    connection.close()
    throw error
  }
  return connection
}

/**
 * Makes the file one with a write-ahead log. While another program does the same to a new file, SQLite refuses at once
 * and does not wait: of programs that start together on no store, one would fail.
 */
function writeAhead(connection: DatabaseSync, busyTimeoutMs: number): void {
  const untilMs = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() >= untilMs) throw error
      Atomics.wait(NEVER_NOTIFIED, 0, 0, LOG_AGAIN_MS)
    }
  }
}

/**
 * Makes the check that a store's file, which is open, is still the one at its path: commits to a file that was
 * removed, or moved away for an older copy, is in no store. The check throws the given failure.
 */
function samePlaceCheck({
  file,
  identity,
}: Pick<SqliteConnectionInput, 'file' | 'identity'>): (Failure: typeof StoreUnavailable) => void {
  const opened = identity ?? identityOf(file, NotSent)
  return (Failure) => {
    if (identityOf(file, Failure) === opened) return
    throw new Failure(
      `${file} is not the file that this server opened: it was removed or replaced. Stop the server, put the store in place, and start it again`,
      { fault: 'moved' },
    )
  }
}

/** The files beside a store's file that a writing connection has open: the write-ahead log, and its index. */
const SIDE_FILE_SUFFIXES = ['-wal', '-shm'] as const

/**
 * Makes the check of {@link samePlaceCheck}, which covers the write-ahead log and its index too where the connection
 * writes: commits to a log that was removed are lost with the process. Call it once the connection is open.
 */
export function sameFilesCheck(
  input: Pick<SqliteConnectionInput, 'file' | 'identity' | 'readOnly'>,
): ReturnType<typeof samePlaceCheck> {
  const requireSamePlace = samePlaceCheck(input)
  if (input.readOnly === true) return requireSamePlace
  const linked = behindLinks(input.file)
  const opened = SIDE_FILE_SUFFIXES.map((end) => linked + end).map(
    (path) => [path, identityOf(path, NotSent)] as const,
  )
  return (Failure) => {
    requireSamePlace(Failure)
    for (const [path, identity] of opened) {
      // Without shared memory of the file system, there is no log.
      if (identity === NO_FILE || identityOf(path, Failure) === identity) continue
      throw new Failure(
        `${path} is not the file that this server uses: it was removed or replaced. Run no other command. Stop the server with SIGTERM: it writes the commits that only it still has into the store. Then start it again`,
        { fault: 'moved' },
      )
    }
  }
}

/** Differs between two files, and stays when a file is renamed. Throws `NotSent` if the path cannot be followed. */
export function fileIdentity(file: string): string {
  return identityOf(file, NotSent)
}

function identityOf(file: string, Failure: typeof StoreUnavailable): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? NO_FILE : `${found.dev} ${found.ino}`
  } catch (cause) {
    throw new Failure(`the file of the store cannot be checked: ${String(cause)}`, { cause })
  }
}

/**
 * Writes the write-ahead log into the file and closes the connection, so that the file alone has all of
 * the store. SQLite does this on its own only if no other connection has the file open. If another one reads or
 * writes at this moment, the log is left to it: waiting would hold up a server's commits.
 */
export function checkpointAndClose(connection: DatabaseSync): void {
  try {
    connection.exec('pragma busy_timeout = 0')
    connection.prepare('pragma wal_checkpoint(truncate)').get()
  } finally {
    connection.close()
  }
}

/** The path of a file behind symbolic links, beside which SQLite makes its log. The file need not exist. */
export function behindLinks(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    // Links that lead in a circle: SQLite refuses them.
    if (Object(error).code === 'ELOOP') return file
    const target = targetOf(file)
    if (target !== null) return behindLinks(target)
    return dirname(file) === file ? file : join(behindLinks(dirname(file)), basename(file))
  }
}

/** Where a symbolic link leads, to a file or to nothing; null: the path is none. */
function targetOf(file: string): string | null {
  try {
    return resolve(behindLinks(dirname(file)), readlinkSync(file))
  } catch {
    return null
  }
}

/** Another process serves from this store. */
export class ServeLockHeld extends Error {
  override readonly name = 'ServeLockHeld'
}

/** The right to serve from a store, until released or the process ends. */
export interface ServeLock {
  release(): void
}

// The garbage collector closes an unreferenced connection, which would free the lock.
const held = new Set<DatabaseSync>()

/**
 * Takes the lock file next to a SQLite store, `<file>.lock`, which one serving process can have at a time, even if
 * symbolic links lead to the store. If a link leads to the store, it also takes the lock file next to the link, which
 * 0.2.0 uses. Throws `ServeLockHeld`.
 */
export function acquireServeLock(file: string): ServeLock {
  const places = new Set([`${behindLinks(file)}.lock`, behindLinks(`${file}.lock`)])
  const connections: DatabaseSync[] = []
  const release = () => {
    for (const connection of connections.splice(0)) {
      held.delete(connection)
      connection.close()
    }
  }
  try {
    for (const place of places) connections.push(lockedFile(place))
  } catch (error) {
    release()
    if (!isBusy(error)) throw error
    throw new ServeLockHeld(
      `another tollgate serves from ${file}: stop it first, or set DATABASE_URL to another store`,
      { cause: error },
    )
  }
  for (const connection of connections) held.add(connection)
  return { release }
}

/**
 * Locks a file. The lock is an open exclusive transaction on a separate SQLite file, because Node has no other file
 * lock; the system frees it however the process ends.
 */
function lockedFile(lockFile: string): DatabaseSync {
  mkdirSync(dirname(lockFile), { recursive: true })
  // Other users who could read the file could lock it, too.
  closeSync(openSync(lockFile, 'a', 0o600))
  const connection = new DatabaseSync(lockFile, { timeout: 0 })
  try {
    // Nothing is ever written, and a journal on disk would remain after a kill.
    connection.exec('pragma journal_mode = memory')
    connection.exec('pragma locking_mode = exclusive')
    connection.exec('begin exclusive')
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
