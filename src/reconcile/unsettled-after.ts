import { expectsCost, type UnsettledRequest } from '../ledger/activity/list-unsettled.ts'
import type { Settled, SettleInput } from '../ledger/ledger.ts'

/** What was asked for, and when it was done. */
interface JustSettled {
  readonly input: SettleInput
  readonly nowMs: number
}

/** What a settle leaves to be reconciled; null: nothing. */
export function unsettledAfter(
  { state, chargedMicros }: Settled,
  { input: { requestId, resolution, facts }, nowMs }: JustSettled,
): UnsettledRequest | null {
  if (resolution.kind === 'released') {
    const { billedAs: generationId } = resolution
    if (state !== 'released' || generationId === undefined) return null
    return { requestId, state, generationId, expectsCost: false, endedAtMs: nowMs }
  }
  if (state !== 'provisional' && state !== 'unresolved') return null
  const generationId = 'generationId' in resolution ? resolution.generationId : facts.generationId
  const costUsd = 'costUsd' in resolution ? resolution.costUsd : null
  const costIsZero = costUsd === null ? null : costUsd.digits === 0n
  return {
    requestId,
    state,
    generationId,
    expectsCost: expectsCost({ state, chargedMicros, costIsZero, usage: facts.usage }),
    endedAtMs: nowMs,
  }
}
