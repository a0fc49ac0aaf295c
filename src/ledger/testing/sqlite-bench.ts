import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../../store/open-store.ts'
import { writeMadeStore } from '../../store/testing/made-store.ts'
import { makeStoreFolder } from '../../store/testing/store-folder.ts'
import { sqliteLedger } from '../engines/create-ledger.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { benchOnStore, type StoreBench } from './store-bench.ts'
import { TestClock } from './test-clock.ts'

interface SqliteBenchInput {
  /** Default: those of a gateway without settings. */
  readonly limits?: LedgerLimits
  /** Default 5,000. */
  readonly busyTimeoutMs?: number | undefined
}

/** The ledger on a separate SQLite file. */
export interface SqliteBench extends StoreBench {
  readonly file: string
}

export async function createSqliteBench(input: SqliteBenchInput = {}): Promise<SqliteBench> {
  const folder = makeStoreFolder('ledger')
  const file = join(folder, 'test.db')
  await writeMadeStore(file)
  const store = await openStore({ url: `sqlite:${file}` })
  const clock = new TestClock()
  const ledger = sqliteLedger({
    file,
    clock,
    limits: input.limits ?? LEDGER_LIMITS_DEFAULT,
    unsureRetryMs: 1,
    idleDelayMs: 1,
    busyTimeoutMs: input.busyTimeoutMs,
  })
  const bench = benchOnStore({
    store,
    ledger,
    clock,
    remove: () => rm(folder, { recursive: true }),
  })
  return Object.assign(bench, { file })
}
