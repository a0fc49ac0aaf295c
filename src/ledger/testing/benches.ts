import type { LedgerLimits } from '../ledger.ts'
import type { Bench } from './bench.ts'
import { createMemoryBench } from './memory-bench.ts'
import { createSqliteBench } from './sqlite-bench.ts'

// Low, so that a script of a few lines reaches them.
const LIMITS: LedgerLimits = {
  openHoldsMax: 3,
  keyRequestsPerMinuteMax: 5,
  unbackedAccountRequestsPerMinuteMax: 3,
}

/** Every engine that the rules run on. */
export const BENCHES: readonly { readonly engine: string; readonly open: () => Promise<Bench> }[] =
  [
    { engine: 'rules alone', open: async () => createMemoryBench({ limits: LIMITS }) },
    { engine: 'SQLite', open: () => createSqliteBench({ limits: LIMITS }) },
  ]
