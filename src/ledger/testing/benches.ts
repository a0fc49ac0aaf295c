import { USERS } from '../../store/people-tables.ts'
import type { LedgerLimits } from '../ledger.ts'
import type { Bench } from './bench.ts'
import { createMemoryBench } from './memory-bench.ts'
import { createPostgresBench } from './postgres-bench.ts'
import { createSqliteBench } from './sqlite-bench.ts'
import type { StoreBench } from './store-bench.ts'

// Low, so that a script of a few lines reaches them.
const LIMITS: LedgerLimits = {
  openHoldsMax: 3,
  keyRequestsPerMinuteMax: 5,
  unbackedAccountRequestsPerMinuteMax: 3,
}

/** Limits that no test reaches by its own requests. */
export const UNREACHED_LIMITS: LedgerLimits = {
  openHoldsMax: 1_000,
  keyRequestsPerMinuteMax: 10_000,
  unbackedAccountRequestsPerMinuteMax: 10_000,
}

/** Every store that the ledger runs on. */
export const STORE_BENCHES: readonly {
  readonly engine: string
  readonly open: (input?: { readonly limits: LedgerLimits }) => Promise<StoreBench>
}[] = [
  { engine: 'SQLite', open: createSqliteBench },
  { engine: 'PostgreSQL', open: createPostgresBench },
]

/** Every engine that the rules run on. */
export const BENCHES: readonly { readonly engine: string; readonly open: () => Promise<Bench> }[] =
  [
    { engine: 'rules alone', open: async () => createMemoryBench({ limits: LIMITS }) },
    ...STORE_BENCHES.map(({ engine, open }) => ({ engine, open: () => open({ limits: LIMITS }) })),
  ]

/** Opens a store with a user, Ada, whose time is 5. */
export async function openWithAda(open: () => Promise<StoreBench>): Promise<StoreBench> {
  const bench = await open()
  bench.nowMs = 5
  const ada = { ...USERS.start, id: 'user_1', name: 'Ada', email: 'a@b.example', createdAtMs: 1 }
  await bench.db.insertInto('users').values(USERS.record(ada)).execute()
  return bench
}
