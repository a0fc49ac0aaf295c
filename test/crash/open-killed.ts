import { flushCompileCache } from 'node:module'
import { SelectQueryNode } from 'kysely'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import type { SaleInput } from '../../src/sale/sale.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Clock } from '../../src/vocabulary/clock.ts'

/**
 * The store of a process that kills itself before it changes something: before a statement that writes, or a command. What
 * is stored there is what the change before has left, and reading changes nothing.
 */
interface OpenKilled extends Pick<SaleInput, 'db' | 'ledger'> {
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
  // A killed process leaves no compiled code for the next one.
  flushCompileCache()
  const store = await openStore({ url: databaseUrl })
  const ledger = createLedger({ location: store.location, clock })
  const db = store.db.withPlugin({
    transformQuery({ node }) {
      if (!SelectQueryNode.is(node)) step()
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return {
    db,
    ledger: {
      postPurchase(input, by) {
        step()
        return ledger.postPurchase(input, by)
      },
    },
    async close() {
      await ledger.close()
      await store.close()
    },
  }
}
