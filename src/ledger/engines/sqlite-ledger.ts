import type { SqliteConnectionInput } from '../../store/sqlite/sqlite-connection.ts'
import { StoreThread } from '../../store/sqlite/store-thread.ts'
import { type Clock, systemClock } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { BatchedLedger, type BatchSettings, type LedgerEngine } from './batched-ledger.ts'
import type { LedgerVerdict } from './commands.ts'
import type { WriterJob } from './sqlite-writer.ts'

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
