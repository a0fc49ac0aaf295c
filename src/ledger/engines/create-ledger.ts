import type { DatabaseLocation } from '../../store/database-url.ts'
import { type Clock, systemClock } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { BatchedLedger, type BatchSettings, type CommitReport, type LedgerEngine } from './batched-ledger.ts'
import type { PostgresWriterInput } from '../../store/postgres/postgres-connection.ts'
import { PostgresEngine } from './postgres-engine.ts'
import type { SqliteConnectionInput } from '../../store/sqlite/sqlite-connection.ts'
import { StoreThread } from '../../store/sqlite/store-thread.ts'
import type { LedgerVerdict } from './commands.ts'
import type { WriterJob } from './sqlite-writer.ts'

interface CreateLedgerInput {
  /** Of a store whose tables are there: `openStore` has opened it. */
  readonly location: DatabaseLocation
  /** Where the store has no time of its own, as SQLite; default the system's. */
  readonly clock?: Clock
  /** Default SPEC's. */
  readonly limits?: LedgerLimits
  /** Told how each commit went. Must not throw. */
  readonly onCommit?: (report: CommitReport) => void
}

/** The ledger of a store, whichever engine it is on. */
export function createLedger(input: CreateLedgerInput): BatchedLedger {
  const { location, clock, limits, onCommit } = input
  const limited = {
    ...(limits === undefined ? {} : { limits }),
    ...(onCommit === undefined ? {} : { onCommit }),
  }
  if (location.kind === 'postgres') {
    return postgresLedger({ url: location.url, ...limited })
  }
  const timed = clock === undefined ? {} : { clock }
  return sqliteLedger({ file: location.file, ...timed, ...limited })
}

interface PostgresLedgerInput extends BatchSettings, PostgresWriterInput {
  /** Default the database's own time, which is the same for every process. */
  readonly clock?: Clock
  /** Default SPEC's. */
  readonly limits?: LedgerLimits
}

/**
 * The ledger in a PostgreSQL database, which several processes may share: rows are locked while a batch
 * works on them.
 */
export function postgresLedger(input: PostgresLedgerInput): BatchedLedger {
  const { clock } = input
  const engine = new PostgresEngine({
    ...input,
    limits: input.limits ?? LEDGER_LIMITS_DEFAULT,
    nowMs: clock === undefined ? null : () => clock.nowMs(),
  })
  return new BatchedLedger({ ...input, engine })
}

interface SqliteLedgerInput extends BatchSettings {
  /** The store's file, whose tables are there: `openStore` has opened it. */
  readonly file: string
  /** Default the system's. */
  readonly clock?: Clock
  /** Default SPEC's. */
  readonly limits?: LedgerLimits
  /** How long a commit waits for another process's write. Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** The ledger in a SQLite store: a thread of its own applies and commits commands. */
export function sqliteLedger(input: SqliteLedgerInput): BatchedLedger {
  return new BatchedLedger({ ...input, engine: sqliteEngine(input) })
}

function sqliteEngine({
  file,
  busyTimeoutMs,
  clock = systemClock,
  limits = LEDGER_LIMITS_DEFAULT,
}: SqliteLedgerInput): LedgerEngine {
  const connection: SqliteConnectionInput = {
    file,
    ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
  }
  const thread = new StoreThread<WriterJob, readonly LedgerVerdict[]>({
    entry: new URL('./sqlite-writer.ts', import.meta.url),
    startWith: connection,
  })
  return {
    commit: (commands) => thread.call({ commands, terms: { nowMs: clock.nowMs(), limits } }),
    close: () => thread.close(),
  }
}
