import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite-failure.ts'

/** Another process serves from this store. */
export class ServeLockHeld extends Error {
  override readonly name = 'ServeLockHeld'
}

/** The right to serve from a store, until released or the process ends. */
export interface ServeLock {
  release(): void
}

// A connection that nobody refers to is closed by the garbage collector, and its lock with it.
const held = new Set<DatabaseSync>()

/**
 * Takes the operating-system lock beside a SQLite store, `<file>.lock`, that one serving process can
 * have at a time. The lock is an open exclusive transaction on a SQLite file of its own, because Node
 * has no other file lock; the system frees it however the process ends. Throws `ServeLockHeld`.
 */
export function acquireServeLock(file: string): ServeLock {
  const lockFile = `${file}.lock`
  mkdirSync(dirname(lockFile), { recursive: true })
  const connection = new DatabaseSync(lockFile, { timeout: 0 })
  try {
    // Nothing is ever written, so a journal on disk would only be left behind by a kill.
    connection.exec('pragma journal_mode = memory')
    connection.exec('pragma locking_mode = exclusive')
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    if (!isBusy(error)) throw error
    throw new ServeLockHeld(
      `another tollgate serves from ${file}: stop it first, or set DATABASE_URL to another store`,
      { cause: error },
    )
  }
  held.add(connection)
  return {
    release() {
      held.delete(connection)
      connection.close()
    },
  }
}
