import type { DatabaseLocation } from '../../store/database-url.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import type { LedgerLimits } from '../ledger.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './postgres-ledger.ts'
import { sqliteLedger } from './sqlite-ledger.ts'
import type { CommitReport } from './timed-commit.ts'

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
