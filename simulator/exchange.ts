import type { IncomingMessage, ServerResponse } from 'node:http'
import { traitsOf } from './catalog.ts'
import { type DeliverInput, deliver, type Payload } from './delivery.ts'
import {
  badRequest,
  changedBody,
  errorBody,
  Refusal,
  wholeJson,
  wrongAnswer,
} from './error-bodies.ts'
import { type Fault, NO_FAULT, omits } from './faults.ts'
import type { AnswerInput, Format, Frame, Reply } from './formats/format.ts'
import { FORMATS_BY_PATH } from './formats/formats.ts'
import { type JsonObject, objectOr, parseObject, stringOr } from './json-value.ts'
import { Line } from './line.ts'
import { readListing } from './listings.ts'
import { RecordedRequest } from './recorder.ts'
import { catalogId, type Vendor, vendorText } from './vendors.ts'
import type { World } from './world.ts'

/** One request on its way to an answer. */
interface Exchange {
  readonly world: World
  readonly request: IncomingMessage
  readonly line: Line
  readonly path: string
  readonly query: string
  readonly format: Format | null
  record: RecordedRequest | null
  cancelled: (() => void) | null
}

/** Answers one request below `/v1`. */
export async function exchange(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = request.url ?? ''
  const mark = url.indexOf('?')
  const path = (mark === -1 ? url : url.slice(0, mark)).replace(/^\/v1/, '')
  const query = mark === -1 ? '' : url.slice(mark + 1)
  const isPost = request.method === 'POST'
  const isSpoken = world.vendor === null || world.vendor.paths.has(path)
  const format = isPost && isSpoken ? (FORMATS_BY_PATH.get(path) ?? null) : null
  const line = new Line(response, (ending) => {
    if (ending === 'clientGone') current.cancelled?.()
    current.record?.noteEnding(ending)
  })
  const asked = { world, request, line, path, query, format }
  const current: Exchange = { ...asked, record: null, cancelled: null }
  const body = await readBody(request)
  if (body === null) return
  recordRequest(current, body)
  if (format === null) await answerGet(current)
  else await answerPost(current, format, body)
}

function recordRequest(current: Exchange, body: Buffer): void {
  const { world, request, path, query, format } = current
  if (!world.isRecording) return
  const isInference = format !== null
  const record = new RecordedRequest({ request, path, query, body, isInference })
  current.record = record
  world.recorder.record(record)
}

/** The body's exact bytes; null where the client went away before its end. */
function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const [first] = chunks
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
    })
    request.on('error', () => resolve(null))
    request.on('close', () => resolve(null))
  })
}

async function answerGet(current: Exchange): Promise<void> {
  const { world, path, query, line, request } = current
  const fault = takeFault(current, null)
  const found = request.method === 'GET' ? readListing(world, path, query) : null
  const base = { line, gates: world.gates, fault, onOutput: ignore, headers: {} }
  // OpenRouter's lists are public.
  const isOpen = world.vendor === null && path !== '/key'
  const refused = isOpen ? null : refusalOf(world.vendor, request)
  if (refused !== null) {
    const payload = wholeJson(refusedBody(current, 'chat', refused))
    await deliver({ ...base, httpStatus: refused.httpStatus, payload })
    return
  }
  const body = found ?? errorBody('chat', 404, `${path} was not found`)
  const payload = wholeJson(changedBody(JSON.stringify(body), fault))
  const answer = { httpStatus: found === null ? 404 : 200, payload }
  await deliver({
    ...base,
    ...(wrongAnswer(fault, { skin: 'chat', failsInside: false }) ?? answer),
  })
}

async function answerPost(current: Exchange, format: Format, bytes: Buffer): Promise<void> {
  const { world, line, request } = current
  const { vendor } = world
  const refused = refusalOf(vendor, request)
  const body = parseObject(bytes.toString())
  const model = body === null || typeof body['model'] !== 'string' ? null : body['model']
  const fault = takeFault(current, model)
  const wrong = wrongAnswer(fault, format)
  const base = { line, gates: world.gates, fault, onOutput: ignore, headers: {} }
  if (wrong !== null) {
    const id = world.nextGenerationId(world.nowMs())
    const headers = vendor === null ? generationHeader(id, fault) : {}
    await deliver({
      ...base,
      headers,
      ...wrong,
      payload: wrongPayload(vendor, fault, { ...wrong, skin: format.skin }),
    })
    return
  }
  try {
    if (refused !== null) throw refused
    if (body === null) throw badRequest('The request body is not a JSON object')
    const input = answerInput({ world, format, body, model, fault })
    await deliverReply(current, { input, reply: format.answer(input), base })
  } catch (error) {
    const refusal = asRefusal(error)
    const payload = wholeJson(refusedBody(current, format.skin, refusal))
    await deliver({ ...base, httpStatus: refusal.httpStatus, payload })
  }
}

function takeFault({ world, path, format }: Exchange, model: string | null): Fault {
  if (world.script.isEmpty) return NO_FAULT
  return world.script.take({ path, isInference: format !== null, model }) ?? NO_FAULT
}

// JSON nested so deep that it can't be walked is the request's fault, not the simulator's.
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof RangeError) return badRequest(`The request can't be read: ${error.message}`)
  throw error
}

/** Any bearer token is accepted, except those whose text names a fault. */
function refusedKey(authorization: string | undefined): Refusal | null {
  if (authorization === undefined || !authorization.startsWith('Bearer ')) {
    return new Refusal(401, 'No auth credentials found')
  }
  const token = authorization.slice('Bearer '.length)
  if (token.startsWith('sk-bad')) return new Refusal(401, 'User not found.')
  if (token.startsWith('sk-broke')) return new Refusal(402, 'Insufficient credits. Add more.')
  return null
}

function answerInput(asked: {
  readonly world: World
  readonly format: Format
  readonly body: JsonObject
  readonly model: string | null
  readonly fault: Fault
}): AnswerInput {
  const { world, format, body, model, fault } = asked
  if (model === null) throw badRequest('No model was named')
  const { vendor } = world
  const row = world.catalog.find(vendor === null ? model : catalogId(model))
  if (row === null && vendor !== null) {
    throw new Refusal(404, `The model \`${model}\` does not exist or you do not have access to it.`)
  }
  if (row === null) throw badRequest(`${model} is not a valid model ID`)
  if (row.pricing.prompt.startsWith('-')) throw badRequest(`${model} has no endpoints here`)
  const isFitting = row.architecture.output_modalities.includes(format.output)
  const traits = traitsOf(row.id)
  if (!isFitting || (format.path === '/completions' && !traits.completions)) {
    throw badRequest(`${model} can't be used with ${format.path}`)
  }
  vendor?.checkBody(format.path, body, row)
  const nowMs = world.nowMs()
  const generationId = world.nextGenerationId(nowMs)
  return {
    path: format.path,
    body,
    row: world.catalog.routed(row, body),
    fastRow: world.catalog.fastTierOf(row),
    traits,
    fault,
    generationId,
    nowMs,
    prefixes: world.prefixes,
    pace: world.pace,
  }
}

type DeliveryBase = Omit<DeliverInput, 'httpStatus' | 'payload'>

async function deliverReply(
  current: Exchange,
  answered: { readonly input: AnswerInput; readonly reply: Reply; readonly base: DeliveryBase },
): Promise<void> {
  const { input, reply, base } = answered
  const { fault } = input
  const { vendor } = current.world
  const headers = vendor === null ? generationHeader(input.generationId, fault) : {}
  const worded = (text: string): string =>
    vendor === null ? text : (vendorText(vendor, text, input.body) ?? text)
  current.record?.noteGeneration(input.generationId)
  if (!reply.streamed) {
    // It runs, and is billed, even if the connection ends.
    recordGeneration(current, { input, reply, outputTokens: reply.outputTokens, cancelled: false })
    const payload = wholeJson(changedBody(worded(reply.whole()), fault))
    await deliver({ ...base, httpStatus: 200, headers, payload })
    return
  }
  let sentTokens = 0
  let isRecorded = false
  const record = (cancelled: boolean): void => {
    if (isRecorded) return
    isRecorded = true
    const inFull = cancelled && fault.ignoresCancel === true
    const outputTokens = inFull ? reply.outputTokens : sentTokens
    recordGeneration(current, { input, reply, outputTokens, cancelled })
  }
  current.cancelled = () => record(true)
  await deliver({
    ...base,
    httpStatus: 200,
    headers,
    onOutput: (outputTokens) => {
      sentTokens = outputTokens
      // Known to the look-up before the client can see the end.
      if (outputTokens >= reply.outputTokens) record(false)
    },
    payload: {
      kind: 'stream',
      frames: vendor === null ? reply.frames() : vendorFrames(vendor, reply, input.body),
      intervalMs: reply.intervalMs,
      errorFrame: () => worded(reply.errorFrame()),
    },
  })
  record(base.line.isClosed && !base.line.isCut)
}

function recordGeneration(
  { world }: Exchange,
  ran: {
    readonly input: AnswerInput
    readonly reply: Reply
    readonly outputTokens: number
    readonly cancelled: boolean
  },
): void {
  const { input, reply } = ran
  const { counts, cost } = reply.billAt(ran.outputTokens)
  const lookupCostUsd = input.fault.lookupCostUsd ?? input.fault.costUsd
  world.generations.record({
    id: input.generationId,
    modelId: input.row.id,
    modelSlug: input.row.canonical_slug,
    apiType: reply.apiType,
    createdMs: input.nowMs,
    streamed: reply.streamed,
    cancelled: ran.cancelled,
    finishReason: ran.cancelled ? null : reply.finishReason,
    counts,
    cost: lookupCostUsd === undefined ? cost : { ...cost, totalUsd: lookupCostUsd },
  })
}

function generationHeader(id: string, fault: Fault): Record<string, string> {
  return omits(fault, 'generationHeader') ? {} : { 'x-generation-id': id }
}

function* vendorFrames(vendor: Vendor, reply: Reply, request: JsonObject): Generator<Frame> {
  for (const { text, outputTokens } of reply.frames()) {
    const worded = vendorText(vendor, text, request)
    if (worded !== null) yield { text: worded, outputTokens }
  }
}

function refusalOf(vendor: Vendor | null, { headers }: IncomingMessage): Refusal | null {
  if (vendor === null) return refusedKey(headers.authorization)
  try {
    vendor.checkHeaders(headers)
    return null
  } catch (error) {
    return asRefusal(error)
  }
}

function refusedBody({ world }: Exchange, skin: Format['skin'], refusal: Refusal): string {
  const { httpStatus, message } = refusal
  const { vendor } = world
  return JSON.stringify(
    vendor === null
      ? errorBody(skin, httpStatus, message)
      : vendor.error(httpStatus, { message, kind: null, skin }),
  )
}

/** A scripted error in the vendor's words; bodies that are not error objects are unchanged. */
function wrongPayload(
  vendor: Vendor | null,
  fault: Fault,
  wrong: {
    readonly httpStatus: number
    readonly payload: Payload
    readonly skin: Format['skin']
  },
): Payload {
  const { httpStatus, payload, skin } = wrong
  if (vendor === null || fault.rawBody !== undefined || payload.kind !== 'whole') return payload
  const error = objectOr(parseObject(payload.text)?.['error'])
  const { message, error_type: ownType, metadata } = error
  if (typeof message !== 'string') return payload
  const kind = stringOr(objectOr(metadata)['error_type'] ?? ownType) || null
  return wholeJson(
    JSON.stringify(vendor.error(httpStatus < 400 ? 502 : httpStatus, { message, skin, kind })),
  )
}

function ignore(): void {}
