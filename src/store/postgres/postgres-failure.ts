import { DatabaseError } from 'pg'
import { StoreRefused, StoreUnavailable } from '../store-unavailable.ts'

// Classes and codes of SQLSTATE after which the server as a whole can't be used at this moment:
// connection, no such login or database, out of resources, cancelled or shutting down, system error,
// internal error; and a server that has become read-only, as after a failover. Any other is the fault
// of the one statement.
const UNAVAILABLE = /^(08|28|3D|53|57|58|XX|25006|25P0[34])/

// Serialization failure and deadlock: nothing was done, and the same again may well succeed.
const RETRIED: ReadonlySet<string> = new Set(['40001', '40P01'])

const LOCK_TIMEOUT = '55P03'

/** What PostgreSQL or the way to it failed with, as the store says it. */
export function postgresFailure(error: unknown): StoreRefused | StoreUnavailable {
  const message = error instanceof Error ? error.message : String(error)
  // What has no code of the server came from the socket, or from waiting for it in vain.
  return error instanceof DatabaseError && !UNAVAILABLE.test(error.code ?? 'XX')
    ? new StoreRefused(message, { cause: error })
    : new StoreUnavailable(message, { cause: error })
}

/** Whether a transaction was given up in favour of another one, and is to be run again. */
export function isGivenUp(error: unknown): boolean {
  return error instanceof DatabaseError && RETRIED.has(error.code ?? '')
}

/** Whether another transaction kept a row for longer than this one waited. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_TIMEOUT
}
