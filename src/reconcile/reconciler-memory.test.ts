import { expect, test } from 'vitest'
import { StoreUnavailable } from '../store/store-failure.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { createReconcileWorld, HOUR_MS, START_MS } from './testing/world.ts'

// Closing it audits the ledger.
const world = ofEach(createReconcileWorld)

test('at most a thousand requests wait for a store that does not accept corrections', async () => {
  let asked = 0
  const gate = Promise.withResolvers<void>()
  const ledger = {
    async correct(): Promise<never> {
      asked++
      await gate.promise
      throw new StoreUnavailable('away')
    },
  }
  const process = world.startProcess({ ledger, settings: { waitingRequestsMax: 1_500 } })
  process.reconciler.start()
  for (let place = 0; place < 5_000; place++) {
    process.reconciler.noticed({
      requestId: `R${place}`,
      state: 'unresolved',
      generationId: null,
      costReported: false,
      expectsCost: false,
      feeBasisPoints: 500,
      endedAtMs: START_MS - 100 * HOUR_MS,
    })
  }
  expect(process.reconciler.waiting.size).toBe(1_500)
  const due = process.reconciler.runDue()
  expect([asked, process.reconciler.waiting.size]).toEqual([1_000, 500])
  gate.resolve()
  await process.reconciler.stop()
  await due
  expect(asked).toBe(1_000)
})
