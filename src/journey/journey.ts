import type { WireFormat } from '../formats/format.ts'
import { checkOffer } from '../formats/refusals.ts'
import { sentFacts } from '../formats/sent-facts.ts'
import { sizeCall, sizeCallInParts } from '../formats/size-call.ts'
import { parseJsonBody } from '../json/body.ts'
import { JSON_TREE_BYTES_MAX } from '../json/bound.ts'
import { editJson } from '../json/edit.ts'
import type { JsonBody } from '../json/walk.ts'
import type { Attempt, AttemptObserver, AttemptRequest, Deadlines } from '../upstreams/attempt.ts'
import { UnlistedField } from '../upstreams/fields.ts'
import type { Upstream, Wire } from '../upstreams/upstream.ts'
import type { Call } from '../vocabulary/call.ts'
import type { QueuePlace } from '../vocabulary/fair-queue.ts'
import { type Offer, offerAtFee } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readTags } from '../vocabulary/tags.ts'
import { clientLeft } from './client-answer.ts'
import type { Caller } from './gate/authenticator.ts'
import type { ByteOwner, ByteReservation } from './gate/byte-budget.ts'
import type { GateSlot } from './gate/gate.ts'
import type { Turn } from './gate/thread-share.ts'
import { HeldRequest } from './held-request.ts'
import { capForGrant, sizeHold } from './hold-size/hold.ts'
import type { JourneyParts, JourneyRequest } from './journey-parts.ts'
import { openHold, requireCredit } from './open-hold.ts'
import { relayAnswer } from './relay/relay.ts'

/** A larger body takes the thread for milliseconds, and so waits for its turn. */
const LIGHT_BODY_BYTES_MAX = 256 * 1024

/**
 * The journey of one request. A step that fails throws a Problem, which is answered in one place. Nothing goes
 * upstream before its hold is durable, and every opened hold is settled, on every path.
 */
export async function runJourney(parts: JourneyParts, request: JourneyRequest): Promise<void> {
  const { format, record } = request
  const caller = await (request.authenticate?.() ?? parts.authenticate(request)) // 401, 429
  record.accountId = caller.accountId
  record.apiKeyId = caller.apiKeyId

  const memory = parts.byteBudget.reserve(byteOwner(caller, format))
  const slot = parts.gate.enter(caller) // 429
  record.rateLimits = slot.rateLimits
  // Nothing may fail between `enter` and here: the place would never be given back.
  try {
    const tags = readTags(request.headers) // 400
    // Returns without the body and its tree, which must be free during a call of many minutes.
    const { held, forward } = await prepareCall(parts, { request, caller, slot, memory, tags }) // 400 to 503
    const ending = await relayAnswer(held, forward)
    await held.conclude(ending) // 400 to 504, the provider's own or ours
  } finally {
    memory.release()
    slot.leave()
  }
}

interface PrepareInput {
  readonly request: JourneyRequest
  readonly caller: Caller
  readonly slot: GateSlot
  readonly memory: ByteReservation
  /** Null: none. */
  readonly tags: readonly string[] | null
}

/** A call whose hold is durable, with nothing sent yet. */
interface PreparedCall {
  readonly held: HeldRequest
  /** Sends it upstream, once. */
  readonly forward: (observer: AttemptObserver) => Attempt
}

/** Reads and understands the body, opens the hold and rewrites the body for the provider. */
async function prepareCall(parts: JourneyParts, input: PrepareInput): Promise<PreparedCall> {
  const { request, caller, slot, memory, tags } = input
  const { format, record } = request
  const bytes = await readBody(parts, input) // 402, 408, 413, 503
  const isLight = bytes.length <= LIGHT_BODY_BYTES_MAX
  const turn = isLight ? null : await parts.threadShare.turn(caller.accountId)
  const rest = turn === null ? null : restOf(turn, request)
  const tree = parts.byteBudget.reserve(byteOwner(caller, format))
  let place: QueuePlace | null = null
  try {
    requireClient(request)
    const body = parseJsonBody(bytes, (treeBytes) => tree.grow(treeBytes)) // 400, 503
    await rest?.()
    const unsized = format.readCall(body, parts.publicNames) // 400
    const call = rest === null ? sizeCall(unsized) : await sizeCallInParts(unsized, rest)
    record.stream = call.stream

    const listed = parts.offerFor(call.modelName, format.endpoint) // 404, 503
    const offer = offerAtFee(listed, caller.feeBasisPoints)
    record.modelId = offer.modelId
    caller.models?.require(offer.modelId) // 403
    record.upstream = offer.upstream
    const upstream = upstreamOf(parts, offer)
    const wire = checkedWire(parts, { upstream, format, call, body, offer }) // 400

    // Prices may have to be fetched first, which needs no thread.
    turn?.end()
    const dearest = offerAtFee(await parts.holdOffer(listed), caller.feeBasisPoints)
    requireClient(request)
    const size = sizeHold(call, dearest) // 400
    place = await placeAt(upstream, { request, caller }) // 503
    const grant = await openHold(parts, { request, caller, call, offer: dearest, size, tags }) // 401, 402, 429, 503
    slot.admitted()
    record.holdMicros = grant.grantedMicros

    const calling = { request, call, offer, slot, grant, memory, upstream, wire, place }
    const held = new HeldRequest(parts, calling)
    const outputCapTokens = capForGrant(size, grant.grantedMicros)
    const forward = held.orRelease(() =>
      rewrittenCall(parts, { ...calling, held, caller, body, outputCapTokens }),
    )
    return { held, forward }
  } catch (error) {
    place?.leave()
    throw error
  } finally {
    turn?.end()
    tree.release()
  }
}

/** The call with spans of the client's body replaced for the provider, to be sent once. */
function rewrittenCall(
  { accountTag, publicNames }: JourneyParts,
  input: Omit<CheckedCall, 'format'> & {
    readonly held: HeldRequest
    readonly wire: Wire
    readonly request: JourneyRequest
    readonly caller: Caller
    readonly memory: ByteReservation
    readonly outputCapTokens: ReturnType<typeof capForGrant>
  },
): PreparedCall['forward'] {
  const { held, call, body, offer, upstream, wire } = input
  const edits = wire.rewrites({
    call,
    body,
    offer,
    outputCapTokens: input.outputCapTokens,
    accountTag: accountTag(input.caller.accountId),
    publicNames,
    ...upstream.bodyRules,
  })
  held.sent = sentFacts(body.root, edits)
  return sendOnce(upstream, {
    path: wire.path,
    headers: forwardedHeaders(input.request, wire, publicNames),
    body: editJson(body, edits),
    deadlines: deadlinesFor(call, upstream),
    onBodySent: givingBack(input.memory),
  })
}

/** Ends a part of a large body's turn, and goes on only for a client that is still there. */
function restOf(turn: Turn, request: JourneyRequest): () => Promise<void> {
  return async () => {
    await turn.rest()
    requireClient(request)
  }
}

/** Throws for a client that has left: no hold is opened for it, and no more work is done. */
function requireClient({ client }: JourneyRequest): void {
  if (client.destroyed) throw clientLeft()
}

function upstreamOf({ upstreams }: JourneyParts, offer: Offer): Upstream {
  const upstream = upstreams.get(offer.upstream)
  if (upstream === undefined) throw new Error(`no upstream is called ${offer.upstream}`)
  return upstream
}

/** A place among the upstream's calls, before anything is held for it. Null: the upstream has no limit. */
async function placeAt(
  { inFlight }: Upstream,
  { request: { client }, caller }: Pick<PrepareInput, 'request' | 'caller'>,
): Promise<QueuePlace | null> {
  if (inFlight === null) return null
  const leaving = new AbortController()
  const onClose = (): void => leaving.abort(clientLeft())
  client.once('close', onClose)
  try {
    return await inFlight.take({ owner: caller.apiKeyId, signal: leaving.signal })
  } finally {
    client.off('close', onClose)
  }
}

interface CheckedCall {
  readonly upstream: Upstream
  readonly format: WireFormat
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
}

/** The wire of a call that the model's upstream may be sent. Throws the Problem of a call that it may not. */
function checkedWire(parts: JourneyParts, checked: CheckedCall): Wire {
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

/** The format's own request headers as sent, and the wire's in place of those that were not: name and value in turn. */
function forwardedHeaders(
  { format, headers }: JourneyRequest,
  wire: Wire,
  publicNames: PublicNames,
): readonly string[] {
  const sent = format.forwardedHeaders(publicNames).flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [name, value] : []
  })
  const { usualHeaders = {} } = wire
  for (const name in usualHeaders) {
    const value = usualHeaders[name]
    if (value !== undefined && headers[name] === undefined) sent.push(name, value)
  }
  return sent
}

function deadlinesFor(call: Call, { settings: { timeouts } }: Upstream): Deadlines {
  const { headersTimeoutMs, stallTimeoutMs } = timeouts
  const { total, boundsStreams } = call.rules.deadline
  const totalTimeoutMs = call.stream && !boundsStreams ? null : timeouts[total]
  return { headersTimeoutMs, stallTimeoutMs, totalTimeoutMs }
}

/** Sends a call upstream once, when called, and lets go of its body. */
function sendOnce(upstream: Upstream, request: AttemptRequest): PreparedCall['forward'] {
  let unsent: AttemptRequest | null = request
  return (observer) => {
    if (unsent === null) throw new Error('an inference call is never repeated')
    const sending = unsent
    unsent = null
    return upstream.forward(sending, observer)
  }
}

// Made here, since a closure of its caller's would keep the body and its tree for as long as the call lasts.
function givingBack(memory: ByteReservation): () => void {
  return () => memory.giveBack()
}

function byteOwner({ accountId, hasBackedCredit }: Caller, format: WireFormat): ByteOwner {
  return { accountId, hasBackedCredit, requestBytesMax: format.bodyBytesMax + JSON_TREE_BYTES_MAX }
}

/** Reads the body within what the caller's account may take. */
function readBody(parts: JourneyParts, { request, caller, memory }: PrepareInput): Promise<Buffer> {
  return request.readBody({
    memory,
    admitLargeBody: () => requireCredit(parts, caller),
    inflateTurn: () => parts.inflateShare.turn(caller.accountId),
  })
}
