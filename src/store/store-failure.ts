/**
 * Why the store can't be used: its file was removed or replaced, its disk is full, it takes no writes, none of several
 * servers takes writes, it does not answer, a commit waits for a standby.
 */
export type StoreFault = 'moved' | 'full' | 'readOnly' | 'noWriter' | 'silent' | 'waitsForStandby'

/**
 * The store did not answer or did not commit. The change may or may not be there: ask again by id. The message is for
 * the log: it names files and servers, and repeats the text of the database.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  /** The reason, which is safe to show to anyone; null: no known reason. Default: the reason of `cause`. */
  readonly fault: StoreFault | null

  constructor(
    message: string,
    { cause, fault }: { readonly cause?: unknown; readonly fault?: StoreFault | null } = {},
  ) {
    super(message, { cause })
    this.fault = fault === undefined ? storeFaultOf(cause) : fault
  }
}

/** The store could not be asked at all: nothing of the command is there. */
export class NotSent extends StoreUnavailable {}

/** The store works, but could not run this one command: nothing of it is there. A later try may succeed. */
export class NotDone extends NotSent {}

/** Rows of the command stayed locked by another transaction. */
export class RowsLocked extends NotDone {}

/** The store refused this one statement or command; others are not affected. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused'
}

/** A rule forbids the command, so that the store would never accept it: a repeat changes nothing. */
export class CommandImpossible extends StoreRefused {}

/** Whether the store failed, and not only a command. */
export function isAway(error: unknown): error is StoreUnavailable {
  return error instanceof StoreUnavailable && !(error instanceof NotDone)
}

/** The read of a page was ended, or did not begin: it took too long, or too many others waited. */
export class ReadRefused extends Error {
  override readonly name = 'ReadRefused'
  readonly why: 'tooLong' | 'tooMany'

  constructor(why: 'tooLong' | 'tooMany', { cause }: { readonly cause?: unknown } = {}) {
    super(why, { cause })
    this.why = why
  }
}

// Primary result codes of SQLite after which the store as a whole can't be used at this moment:
// busy, locked, no memory, read-only, interrupted, I/O error, corrupt, full, can't open, locking
// protocol, not a database. Any other code is the fault of the one statement.
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 26])

// Read-only, full.
const SQLITE_FAULTS: Readonly<Record<number, StoreFault>> = { 8: 'readOnly', 13: 'full' }

/** The reason of a failure of the store or of SQLite; null: not known. */
export function storeFaultOf(error: unknown): StoreFault | null {
  if (error instanceof StoreUnavailable) return error.fault
  return SQLITE_FAULTS[sqliteCodeOf(error)] ?? null
}

/** Whether SQLite failed as a whole, rather than refused one statement. */
export function isUnavailable(error: unknown): boolean {
  return UNAVAILABLE_CODES.has(sqliteCodeOf(error))
}

/** Whether SQLite refused one statement; otherwise the thrown value is not an error of SQLite. */
export function isRefusedBySqlite(error: unknown): boolean {
  return sqliteCodeOf(error) !== 0
}

/** Whether SQLite gave up waiting for a lock of another connection. */
export function isBusy(error: unknown): boolean {
  return sqliteCodeOf(error) === 5
}

/** The primary result code of an error of `node:sqlite`; 0 for any other error. */
function sqliteCodeOf(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null
  return typeof code === 'number' ? code & 0xff : 0
}
