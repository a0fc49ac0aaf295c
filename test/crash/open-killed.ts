import { flushCompileCache } from 'node:module'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import type { SaleInput } from '../../src/sale/sale.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Clock } from '../../src/vocabulary/clock.ts'

/** The store of a process that kills itself before or after a statement, a command, or a step of its own count. */
interface OpenKilled extends Pick<SaleInput, 'db' | 'ledger'> {
  readonly step: () => void
  /** Counts a step before some work and one after it. */
  readonly stepping: <T>(work: () => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

export async function openKilled({
  databaseUrl,
  killAt,
  clock,
}: {
  readonly databaseUrl: string
  readonly killAt: number
  readonly clock: Clock
}): Promise<OpenKilled> {
  let steps = 0
  const step = () => {
    if (++steps === killAt) process.kill(process.pid, 'SIGKILL')
  }
  const stepping: OpenKilled['stepping'] = async (work) => {
    step()
    const done = await work()
    step()
    return done
  }
  // A killed process leaves no compiled code for the next one.
  flushCompileCache()
  const store = await openStore({ url: databaseUrl })
  const ledger = createLedger({ location: store.location, clock })
  const db = store.db.withPlugin({
    transformQuery({ node }) {
      step()
      return node
    },
    async transformResult({ result }) {
      step()
      return result
    },
  })
  return {
    db,
    ledger: { postPurchase: (input, by) => stepping(() => ledger.postPurchase(input, by)) },
    step,
    stepping,
    async close() {
      await ledger.close()
      await store.close()
    },
  }
}
