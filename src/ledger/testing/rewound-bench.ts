import { openStore } from '../../store/open-store.ts'
import {
  createRewoundDatabase,
  type RewoundDatabase,
} from '../../store/testing/rewound-database.ts'
import { type SeveringProxy, startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import { postgresLedger } from '../engines/create-ledger.ts'
import type { StoreGap } from '../engines/went-back.ts'
import type { LedgerLimits } from '../ledger.ts'
import { connected } from './connected.ts'
import { runScript } from './script.ts'
import { benchOnStore, type StoreBench } from './store-bench.ts'
import { TestClock } from './test-clock.ts'

const LIMITS: LedgerLimits = {
  openHoldsMax: 100,
  keyRequestsPerMinuteMax: 1_000,
  unbackedAccountRequestsPerMinuteMax: 1_000,
}

/** A ledger on a PostgreSQL database that can be put back to an earlier state, and each loss that it noticed. */
export class RewoundBench {
  readonly bench: StoreBench
  readonly ledger: BatchedLedger
  /** The way of the ledger to its database. */
  readonly proxy: SeveringProxy
  readonly gaps: StoreGap[] = []
  /** Resolves with the first gap. */
  readonly foundGap = Promise.withResolvers<StoreGap>()
  readonly #database: RewoundDatabase
  readonly #clock = new TestClock()

  private constructor(
    database: RewoundDatabase,
    { proxy, store }: { proxy: SeveringProxy; store: Awaited<ReturnType<typeof openStore>> },
  ) {
    this.#database = database
    this.proxy = proxy
    this.ledger = postgresLedger({
      url: proxy.url,
      limits: LIMITS,
      clock: this.#clock,
      unsureRetryMs: 1,
      idleDelayMs: 1,
      lockTimeoutMs: 3_500,
      wentBack: {
        instanceId: 'I',
        onWentBack: (gap) => {
          this.gaps.push(gap)
          this.foundGap.resolve(gap)
        },
      },
    })
    this.bench = benchOnStore({
      store,
      ledger: this.ledger,
      clock: this.#clock,
      remove: async () => {
        await proxy.close()
        await database.remove()
      },
    })
  }

  static async open(): Promise<RewoundBench> {
    const database = await createRewoundDatabase()
    const proxy = await startSeveringProxy(database.url)
    return new RewoundBench(database, { proxy, store: await openStore({ url: database.url }) })
  }

  get url(): string {
    return this.#database.url
  }

  /** Another ledger on the same database, whose commits are not confirmed to the first; as an instance, it books losses again. */
  beside({
    url = this.url,
    instanceId,
  }: {
    url?: string
    instanceId?: string
  } = {}): BatchedLedger {
    const ledger = { url, limits: LIMITS, clock: this.#clock }
    if (instanceId === undefined) return postgresLedger(ledger)
    return postgresLedger({ ...ledger, wentBack: { instanceId, onWentBack: () => {} } })
  }

  run(script: string): Promise<string> {
    return runScript(this.bench, script)
  }

  /** Keeps the database as it is now, to go back to. */
  async keep(...ledgers: readonly BatchedLedger[]): Promise<void> {
    await this.#database.keep()
    for (const ledger of [this.ledger, ...ledgers]) await connected(ledger)
  }

  /** Loses everything that was committed since {@link keep}, and waits until the ledger has noticed. */
  async goBack(): Promise<void> {
    await this.loseAll()
    await connected(this.ledger)
  }

  /** As {@link goBack}, without waiting for the ledger. */
  loseAll(): Promise<void> {
    return this.#database.goBack()
  }

  /** Throws if the ledger is not exact; closes either way. */
  close(): Promise<void> {
    return this.bench.auditAndClose()
  }
}
