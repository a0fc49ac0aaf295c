import type { DatabaseLocation } from '../../store/database-url.ts'
import type { PostgresWriterInput } from '../../store/postgres/postgres-connection.ts'
import type { SqliteConnectionInput } from '../../store/sqlite/sqlite-connection.ts'
import { StoreThread } from '../../store/sqlite/store-thread.ts'
import { type Clock, systemClock } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import {
  type BatchedLedger,
  type BatchSettings,
  batchedLedger,
  type CommittedBatch,
} from './batched-ledger.ts'
import { PostgresEngine, type WentBackInput } from './postgres-engine.ts'
import type { WriterJob } from './sqlite-writer.ts'

/** The settings that only a ledger in PostgreSQL has. */
interface PostgresLedgerInput extends PostgresWriterInput {
  /** How long to wait for the server before the connection counts as lost. Default 5,000. */
  readonly answerTimeoutMs?: number
  /** Default: commits that the database may lose are not kept. */
  readonly wentBack?: WentBackInput | undefined
}

interface LedgerInput extends BatchSettings {
  readonly limits?: LedgerLimits
  /** Default: on SQLite the system's clock, on PostgreSQL the database's, which all processes share. */
  readonly clock?: Clock | undefined
}

/**
 * The ledger of a store that `openStore` has opened, so that its tables exist. `clock` is used only on
 * SQLite.
 */
export function createLedger({
  location,
  clock,
  ...input
}: LedgerInput &
  Pick<PostgresLedgerInput, 'wentBack'> & { readonly location: DatabaseLocation }): BatchedLedger {
  return location.kind === 'postgres'
    ? postgresLedger({ ...input, url: location.url })
    : sqliteLedger({ ...input, clock, file: location.file, identity: location.identity })
}

/**
 * The ledger in a PostgreSQL database, which several processes can share: rows are locked while a batch
 * works on them.
 */
export function postgresLedger(input: LedgerInput & PostgresLedgerInput): BatchedLedger {
  const { clock, limits = LEDGER_LIMITS_DEFAULT } = input
  const nowMs = clock === undefined ? null : () => clock.nowMs()
  return batchedLedger({ ...input, engine: new PostgresEngine({ ...input, limits, nowMs }) })
}

/** The ledger in a SQLite store: a separate thread applies and commits commands. */
export function sqliteLedger(
  input: LedgerInput & Omit<SqliteConnectionInput, 'readOnly'>,
): BatchedLedger {
  const {
    file,
    identity,
    busyTimeoutMs,
    clock = systemClock,
    limits = LEDGER_LIMITS_DEFAULT,
  } = input
  const connection: SqliteConnectionInput = { file, identity, busyTimeoutMs }
  const thread = new StoreThread<WriterJob, CommittedBatch>({
    entry: new URL('./sqlite-writer.ts', import.meta.url),
    startWith: connection,
  })
  const engine = {
    commit: (commands: WriterJob['commands']) =>
      thread.call({ commands, terms: { nowMs: clock.nowMs(), limits } }),
    takeVerdicts: () => thread.takeReplies(),
    close: () => thread.close(),
  }
  return batchedLedger({ ...input, engine })
}
