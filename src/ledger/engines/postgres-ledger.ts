import type { PostgresWriterInput } from '../../store/postgres/postgres-connection.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { BatchedLedger, type BatchSettings } from './batched-ledger.ts'
import { PostgresEngine } from './postgres-engine.ts'

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
