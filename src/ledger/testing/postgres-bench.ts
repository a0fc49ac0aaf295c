import { openStore } from '../../store/open-store.ts'
import { takePostgresDatabase } from '../../store/testing/used-databases.ts'
import { postgresLedger } from '../engines/create-ledger.ts'
import type { LedgerLimits } from '../ledger.ts'
import { benchOnStore, type StoreBench } from './store-bench.ts'

/** The ledger on a separate PostgreSQL database. */
export interface PostgresBench extends StoreBench {
  readonly url: string
}

export async function createPostgresBench(input: {
  readonly limits: LedgerLimits
}): Promise<PostgresBench> {
  const { url, remove } = await takePostgresDatabase()
  const store = await openStore({ url })
  let nowMs = 0
  const ledger = postgresLedger({
    url,
    clock: { nowMs: () => nowMs },
    limits: input.limits,
    unsureRetryMs: 1,
    idleDelayMs: 1,
  })
  const bench = benchOnStore({
    store,
    ledger,
    setNowMs: (moment) => {
      nowMs = moment
    },
    remove,
  })
  return { ...bench, url }
}
