import type { ServerResponse } from 'node:http'
import { sizeCall, sizeCallInParts, type WireFormat } from '../formats/format.ts'
import { checkOffer } from '../formats/refusals.ts'
import { parseJsonBody } from '../json/body.ts'
import { JSON_TREE_BYTES_MAX } from '../json/bound.ts'
import type { JsonBody } from '../json/walk.ts'
import { UnlistedField } from '../upstreams/fields.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Wire } from '../upstreams/wire.ts'
import type { Call } from '../vocabulary/call.ts'
import { type Offer, offerAtFee } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import { clientLeft } from './client-answer.ts'
import type { ByteOwner, ByteReservation } from './gate/byte-budget.ts'
import type { Caller } from './gate/caller.ts'
import type { Turn } from './gate/thread-share.ts'
import { type HoldSize, sizeHold } from './hold-size/hold.ts'
import type { JourneyParts, JourneyRecord } from './journey-parts.ts'

interface SizeRequestInput {
  readonly format: WireFormat
  readonly caller: ByteCaller & Pick<Caller, 'feeBasisPoints' | 'models'>
  readonly client: ServerResponse
  readonly record: Pick<JourneyRecord, 'stream' | 'modelId' | 'upstream'>
  readonly bytes: Buffer
  /** Memory for the tree of the body. */
  readonly tree: ByteReservation
  /** The turn of a body that occupies the thread for long, which is ended here; null: it needs none. */
  readonly turn: Turn | null
}

/** A body that was understood, with its price. No hold is open for it, and nothing was sent. */
export interface SizedRequest {
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
  /** The offer at the highest prices that the call can have: its hold is sized by them. */
  readonly heldOffer: Offer
  readonly size: HoldSize
  readonly upstream: Upstream
  readonly wire: Wire
}

/** Understands a body, finds its model at the caller's price, and sizes its hold. Throws Problem. */
export async function sizeRequest(
  parts: JourneyParts,
  input: SizeRequestInput,
): Promise<SizedRequest> {
  const { format, caller, record, bytes, tree, turn } = input
  const rest = turn === null ? null : restOf(turn, input)
  requireClient(input)
  const body = parseJsonBody(bytes, (treeBytes) => tree.grow(treeBytes)) // 400, 503
  await rest?.()
  const unsized = format.readCall(body, parts.publicNames) // 400
  const call = rest === null ? sizeCall(unsized) : await sizeCallInParts(unsized, rest)
  record.stream = call.stream

  const listed = parts.offerFor(call.modelName, format.endpoint, caller.models) // 404, 503
  const offer = offerAtFee(listed, caller.feeBasisPoints)
  record.modelId = offer.modelId
  caller.models?.require(offer.modelId) // 403
  record.upstream = offer.upstream
  const upstream = upstreamOf(parts, offer)
  const wire = checkedWire(parts, { upstream, format, call, body, offer }) // 400

  // Prices may have to be fetched first, which needs no thread.
  turn?.end()
  const heldOffer = offerAtFee(await parts.holdOffer(listed), caller.feeBasisPoints)
  requireClient(input)
  const size = sizeHold(call, heldOffer) // 400
  return { call, body, offer, heldOffer, size, upstream, wire }
}

/** Ends a part of a large body's turn, and continues only for a client that is still there. */
function restOf(turn: Turn, input: Pick<SizeRequestInput, 'client'>): () => Promise<void> {
  return async () => {
    await turn.rest()
    requireClient(input)
  }
}

/** Throws for a client that has left: no hold is opened for it, and no more work is done. */
function requireClient({ client }: Pick<SizeRequestInput, 'client'>): void {
  if (client.destroyed) throw clientLeft()
}

function upstreamOf({ upstreams }: JourneyParts, offer: Offer): Upstream {
  const upstream = upstreams.get(offer.upstream)
  if (upstream === undefined) throw new Error(`no upstream is called ${offer.upstream}`)
  return upstream
}

/** The wire for a call to the model's upstream. Throws the Problem of a call that can't be sent there. */
function checkedWire(
  parts: JourneyParts,
  checked: Pick<SizedRequest, 'upstream' | 'call' | 'body' | 'offer'> &
    Pick<SizeRequestInput, 'format'>,
): Wire {
  const { upstream, format, call, body, offer } = checked
  const { formats, publicNames } = parts
  const { parsesFiles } = upstream.dialect
  checkOffer(call, { format, formats, offer, parsesFiles, publicNames })
  const wire = wireOf(upstream, format)
  try {
    wire.refuse?.({ call, body, offer, ...upstream.bodyRules })
  } catch (error) {
    if (error instanceof Problem && error.cause instanceof UnlistedField) {
      parts.fieldRefused(offer.upstream, error.cause)
    }
    throw error
  }
  return wire
}

function wireOf({ settings: { name }, wires }: Upstream, { endpoint }: WireFormat): Wire {
  const wire = wires.get(endpoint)
  if (wire === undefined) throw new Error(`upstream ${name} has no wire for ${endpoint}`)
  return wire
}

type ByteCaller = Pick<Caller, 'accountId' | 'hasBackedCredit'>

/** The owner whose share of memory a body takes. */
export function byteOwner(
  { accountId, hasBackedCredit }: ByteCaller,
  format: Pick<WireFormat, 'bodyBytesMax'>,
): ByteOwner {
  return { accountId, hasBackedCredit, requestBytesMax: format.bodyBytesMax + JSON_TREE_BYTES_MAX }
}
