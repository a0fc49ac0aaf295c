import type { ServerResponse } from 'node:http'
import type { WireFormat } from '../formats/format.ts'
import { estimateGrant, type HoldEstimate, type KeySpending } from '../ledger/rules/open-hold.ts'
import type { AccountRow } from '../store/schema.ts'
import type { ModelAccess } from './gate/caller.ts'
import type { JourneyParts, JourneyRequest } from './journey-parts.ts'
import { neededCredit, requireCredit } from './open-hold.ts'
import { byteOwner, sizeRequest } from './size-request.ts'

/** A request that an account may send later, such as a draft in the Playground. */
export interface EstimateInput {
  readonly format: WireFormat
  readonly account: AccountRow
  /** The key that the request would be sent with. */
  readonly apiKey: KeySpending
  /** Null: every model may be used. */
  readonly models: ModelAccess | null
  /** The owner whose estimates take turns at the thread with those of others. */
  readonly owner: string
  readonly client: ServerResponse
  readonly readBody: JourneyRequest['readBody']
}

/**
 * Sizes the hold of a request as its journey would. Nothing is opened, stored or sent. Estimates always take turns at
 * the thread, so that many of one owner delay no other owner and no request. Throws Problem as the journey does.
 */
export async function estimateHold(
  parts: JourneyParts,
  { format, account, apiKey, models, owner, client, readBody }: EstimateInput,
): Promise<HoldEstimate> {
  const { id: accountId, hasBackedCredit, feeBasisPoints } = account
  const caller = { accountId, hasBackedCredit, feeBasisPoints, models }
  const memory = parts.byteBudget.reserve(byteOwner(caller, format))
  const tree = parts.byteBudget.reserve(byteOwner(caller, format))
  try {
    const bytes = await readBody({
      memory,
      admitLargeBody: () => requireCredit(parts, caller),
      inflateTurn: () => parts.inflateShare.turn(owner),
    })
    const turn = await parts.threadShare.turn(owner)
    try {
      const record = { stream: false, modelId: null, upstream: null }
      const sizing = { format, record, client, caller, bytes, tree, turn }
      const { call, heldOffer: offer, size } = await sizeRequest(parts, sizing)
      const needed = neededCredit({ call, offer, size })
      return estimateGrant({ account, apiKey }, needed, parts.clock.nowMs())
    } finally {
      turn.end()
    }
  } finally {
    tree.release()
    memory.release()
  }
}
