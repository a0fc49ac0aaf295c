/** The store did not answer or did not commit. What was asked may or may not be there: ask again by id. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The store answered that it can't do this one thing; others are unharmed. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
}

// Primary result codes of SQLite after which the store as a whole can't be used at this moment:
// busy, locked, no memory, read-only, interrupted, I/O error, corrupt, full, can't open, locking
// protocol, not a database. Any other code is the fault of the one statement.
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 26])

/** Whether SQLite failed as a whole, rather than refused one statement. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false
  return typeof error.errcode === 'number' && UNAVAILABLE_CODES.has(error.errcode & 0xff)
}

/** Whether another connection holds a lock that this one waited for in vain. */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  )
}
