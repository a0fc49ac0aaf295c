import { openStore } from '../../store/open-store.ts'
import { takePostgresDatabase } from '../../store/testing/used-databases.ts'
import { postgresLedger } from '../engines/create-ledger.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { benchOnStore, type StoreBench } from './store-bench.ts'
import { TestClock } from './test-clock.ts'

/** The ledger on a separate PostgreSQL database. */
export interface PostgresBench extends StoreBench {
  readonly url: string
}

export async function createPostgresBench(
  input: { readonly limits?: LedgerLimits } = {},
): Promise<PostgresBench> {
  const { url, remove } = await takePostgresDatabase()
  const store = await openStore({ url })
  const clock = new TestClock()
  const ledger = postgresLedger({
    url,
    clock,
    limits: input.limits ?? LEDGER_LIMITS_DEFAULT,
    unsureRetryMs: 1,
    idleDelayMs: 1,
  })
  const bench = benchOnStore({
    store,
    ledger,
    clock,
    remove,
  })
  return Object.assign(bench, { url })
}
