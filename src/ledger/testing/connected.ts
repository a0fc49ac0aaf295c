import { expect } from 'vitest'
import { StoreUnavailable } from '../../store/store-failure.ts'
import type { Ledger } from '../commands.ts'

/** Until a ledger has a connection again: the first command may still be sent on the one that was cut. */
export async function connected(ledger: Pick<Ledger, 'abandonHolds'>): Promise<void> {
  for (;;) {
    try {
      await ledger.abandonHolds([])
      return
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable)
    }
  }
}
