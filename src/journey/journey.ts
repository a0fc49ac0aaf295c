import { sentFacts } from '../formats/sent-facts.ts'
import { editJson } from '../json/edit.ts'
import type { Attempt, AttemptObserver, AttemptRequest, Deadlines } from '../upstreams/attempt.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Wire } from '../upstreams/wire.ts'
import { type Call, readTags } from '../vocabulary/call.ts'
import type { QueuePlace } from '../vocabulary/fair-queue.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { clientLeft } from './client-answer.ts'
import type { ByteReservation } from './gate/byte-budget.ts'
import type { Caller } from './gate/caller.ts'
import type { GateSlot } from './gate/gate.ts'
import { HeldRequest } from './held-request.ts'
import { capForGrant } from './hold-size/hold.ts'
import type { JourneyParts, JourneyRequest } from './journey-parts.ts'
import { openHold, requireCredit } from './open-hold.ts'
import { relayAnswer } from './relay/relay.ts'
import { byteOwner, type SizedRequest, sizeRequest } from './size-request.ts'

/** A larger body occupies the thread for milliseconds, so it waits for its turn. */
const LIGHT_BODY_BYTES_MAX = 256 * 1024

/**
 * The journey of one request. A step that fails throws a Problem, which is answered in one place. Nothing goes
 * upstream before its hold is durable, and every opened hold is settled, on every path.
 */
export async function runJourney(parts: JourneyParts, request: JourneyRequest): Promise<void> {
  const { format, record } = request
  const caller = await (request.authenticate?.() ?? parts.authenticate(request)) // 401, 403, 429, 503
  record.accountId = caller.accountId
  record.apiKeyId = caller.apiKeyId

  const memory = parts.byteBudget.reserve(byteOwner(caller, format))
  const slot = parts.gate.enter(caller) // 429
  record.rateLimits = slot.rateLimits
  // Nothing may fail between `enter` and here: the place would never be given back.
  try {
    const tags = readTags(request.headers) // 400
    // Returns without the body and its tree, whose memory must be free during a call of many minutes.
    const { held, forward } = await prepareCall(parts, { request, caller, slot, memory, tags }) // 400 to 503
    const ending = await relayAnswer(held, { forward, takeVerdicts: parts.takeVerdicts })
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
  /** Sends the call upstream. It can be called once. */
  readonly forward: (observer: AttemptObserver) => Attempt
}

/** Reads and understands the body, opens the hold and rewrites the body for the provider. */
async function prepareCall(parts: JourneyParts, input: PrepareInput): Promise<PreparedCall> {
  const { request, caller, slot, memory, tags } = input
  const { format, record, client } = request
  const bytes = await readBody(parts, input) // 400, 402, 408, 413, 503
  const isLight = bytes.length <= LIGHT_BODY_BYTES_MAX
  const turn = isLight ? null : await parts.threadShare.turn(caller.accountId)
  const tree = parts.byteBudget.reserve(byteOwner(caller, format))
  let place: QueuePlace | null = null
  try {
    const sizing = { format, record, client, caller, bytes, tree, turn }
    const sized = await sizeRequest(parts, sizing) // 400 to 503
    const { call, body, offer, heldOffer, size, upstream, wire } = sized
    place = await placeAt(upstream, { request, caller }) // 503
    // 401, 402, 403, 429, 503
    const grant = await openHold(parts, { request, caller, call, offer: heldOffer, size, tags })
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

/** The client's body with some spans replaced for the provider. It is sent once. */
function rewrittenCall(
  { accountTag, publicNames }: JourneyParts,
  input: Pick<SizedRequest, 'call' | 'body' | 'offer' | 'upstream' | 'wire'> & {
    readonly held: HeldRequest
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
  held.sent = sentFacts({ root: body.root, edits, call, offer })
  return sendOnce(upstream, {
    path: wire.path,
    headers: forwardedHeaders(input.request, wire, publicNames),
    body: editJson(body, edits),
    deadlines: deadlinesFor(call, upstream),
    onBodySent: givingBack(input.memory),
  })
}

/** Takes a place among the upstream's calls, before anything is held. Null: the upstream has no limit. */
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

/** The format's request headers that the client sent, else the wire's defaults: name and value in turn. */
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

/** Sends a call upstream once, when called, and then drops its body. */
function sendOnce(upstream: Upstream, request: AttemptRequest): PreparedCall['forward'] {
  let unsent: AttemptRequest | null = request
  return (observer) => {
    if (unsent === null) throw new Error('an inference call is never repeated')
    const sending = unsent
    unsent = null
    return upstream.forward(sending, observer)
  }
}

// A separate function: a closure in the caller would keep the body and its tree for as long as the call lasts.
function givingBack(memory: ByteReservation): () => void {
  return () => memory.giveBack()
}

/** Reads the body within the account's share of memory. */
function readBody(parts: JourneyParts, { request, caller, memory }: PrepareInput): Promise<Buffer> {
  return request.readBody({
    memory,
    admitLargeBody: () => requireCredit(parts, caller),
    inflateTurn: () => parts.inflateShare.turn(caller.accountId),
  })
}
