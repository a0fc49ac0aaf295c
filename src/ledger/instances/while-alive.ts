import { StoreUnavailable } from '../../store/store-failure.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import type { HoldLedger } from '../ledger.ts'

/**
 * The ledger of an instance that opens holds only while no other can have taken it for dead. A hold
 * that was opened as that time ran out is released, and rejects with `StoreUnavailable`.
 */
export function whileAlive(ledger: BatchedLedger, isAlive: () => boolean): HoldLedger {
  const refuse = () => new StoreUnavailable('this instance may have been taken for dead')
  return {
    async openHold(input) {
      if (!isAlive()) throw refuse()
      const verdict = await ledger.openHold(input)
      if (verdict.kind !== 'opened' || isAlive()) return verdict
      ledger.releaseUnsure(input)
      throw refuse()
    },
    settle: (input) => ledger.settle(input),
    abandon: (requestId) => ledger.abandon(requestId),
    noteGeneration: (input) => ledger.noteGeneration(input),
  }
}
