import { DatabaseError } from 'pg'
import { messageOf } from '../../vocabulary/message-of.ts'
import { NotDone, type StoreFault, StoreRefused, StoreUnavailable } from '../store-failure.ts'

/** The meaning of an error of PostgreSQL, or of the connection to it. */
type Meaning =
  /** Another transaction won: nothing was done, and a second try may succeed. */
  | 'lostRace'
  /** A row stayed locked by another transaction. */
  | 'rowLocked'
  /** The server cancelled the statement, as after the time-out of statements. */
  | 'cancelled'
  /** The user lacks a right that this statement needs: a try succeeds once the right is granted. */
  | 'denied'
  /** The fault of one statement or its values; the server works. */
  | 'refused'
  /** The server can't be used now, or ever: also any unknown error. */
  | 'away'

/** By their SQLSTATE. Every other error, with or without one, is about the server. */
const MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  // Serialization failure, deadlock.
  [/^40(001|P01)$/, 'lostRace'],
  [/^55P03$/, 'rowLocked'],
  [/^57014$/, 'cancelled'],
  [/^42501$/, 'denied'],
  // Cardinality, data, constraints, syntax, checks of views, limits of the program, PL/pgSQL.
  [/^(21|22|23|42|44|54|P0)/, 'refused'],
]

// An account got an external ID, or a request was opened, since this transaction looked: a second try sees that.
const RACED_INDEXES: ReadonlySet<string> = new Set([
  'accounts_external_id',
  'holds_pkey',
  'requests_pkey',
])

function meaningOf(error: unknown): Meaning {
  if (!(error instanceof DatabaseError)) return 'away'
  if (RACED_INDEXES.has(error.constraint ?? '')) return 'lostRace'
  if (error.code === '23502' && error.table === 'holds') return 'lostRace'
  return MEANINGS.find(([states]) => states.test(error.code ?? ''))?.[1] ?? 'away'
}

/** Whether the server ended a transaction in favour of another one, so that it must be run again. */
export function isLostRace(error: unknown): boolean {
  return meaningOf(error) === 'lostRace'
}

/** Whether this transaction gave up waiting for a row that another one had locked. */
export function isRowLocked(error: unknown): boolean {
  return meaningOf(error) === 'rowLocked'
}

/** Whether the server cancelled a statement. */
export function isCancelled(error: unknown): boolean {
  return meaningOf(error) === 'cancelled'
}

/** Whether a connection can serve the next transaction after this error, once its own is rolled back. */
export function keepsConnection(error: unknown): boolean {
  const meaning = meaningOf(error)
  return meaning !== 'cancelled' && meaning !== 'away'
}

// Read-only transaction, disk full.
const FAULTS: Readonly<Record<string, StoreFault>> = { '25006': 'readOnly', '53100': 'full' }

/** The store's own error for this one. By position: the error, and the name of the server that it comes from. */
export function postgresFailure(
  error: unknown,
  serverName: string,
): StoreRefused | StoreUnavailable {
  if (error instanceof StoreUnavailable || error instanceof StoreRefused) return error
  const message = messageOf(error)
  const meaning = meaningOf(error)
  if (meaning === 'refused') return new StoreRefused(message, { cause: error })
  if (meaning === 'denied') return new NotDone(`${serverName}: ${message}`, { cause: error })
  return new StoreUnavailable(`${serverName}: ${message}`, {
    cause: error,
    fault: FAULTS[sqlStateOf(error) ?? ''] ?? null,
  })
}

/** The SQLSTATE of an error of PostgreSQL or of its cause; null: it has none. */
export function sqlStateOf(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null
  return error instanceof Error && error.cause !== undefined ? sqlStateOf(error.cause) : null
}
