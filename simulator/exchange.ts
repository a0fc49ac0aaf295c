import type { IncomingMessage, ServerResponse } from 'node:http'
import { traitsOf } from './catalog.ts'
import { type DeliverInput, deliver } from './delivery.ts'
import {
  badRequest,
  changedBody,
  errorBody,
  Refusal,
  wholeJson,
  wrongAnswer,
} from './error-bodies.ts'
import { type Fault, NO_FAULT, omits } from './faults.ts'
import type { AnswerInput, Format, Reply } from './formats/format.ts'
import { FORMATS_BY_PATH } from './formats/formats.ts'
import { DEFAULT_GATE } from './gates.ts'
import { type JsonObject, parseObject } from './json-value.ts'
import { Line } from './line.ts'
import { readListing } from './listings.ts'
import { RecordedRequest } from './recorder.ts'
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
  world.requestCount += 1
  const url = request.url ?? ''
  const mark = url.indexOf('?')
  const path = (mark === -1 ? url : url.slice(0, mark)).replace(/^\/v1/, '')
  const query = mark === -1 ? '' : url.slice(mark + 1)
  const isPost = request.method === 'POST'
  const format = isPost ? (FORMATS_BY_PATH.get(path) ?? null) : null
  const line = new Line(response, (ending) => {
    if (ending === 'clientGone') current.cancelled?.()
    current.record?.noteEnding(ending)
  })
  const current: Exchange = {
    world,
    request,
    line,
    path,
    query,
    format,
    record: null,
    cancelled: null,
  }
  const early = world.script.isEmpty ? null : world.script.takeBeforeBody(path, format !== null)
  if (early !== null) {
    if (early.hold !== 'beforeBody') recordRequest(current, Buffer.alloc(0))
    await strikeBeforeBody(current, early)
    if (line.isClosed || early.cut?.at === 'beforeBody') return
  }
  const body = await readBody(request)
  if (body === null) return
  recordRequest(current, body)
  if (format === null) await answerGet(current)
  else await answerPost(current, format, body)
}

function recordRequest(current: Exchange, body: Buffer): void {
  const { world, request, path, query, format } = current
  if (!world.isRecording || current.record !== null) return
  const record = new RecordedRequest({
    request,
    path,
    query,
    body,
    isInference: format !== null,
  })
  current.record = record
  world.recorder.record(record)
}

async function strikeBeforeBody(current: Exchange, fault: Fault): Promise<void> {
  const { line, world } = current
  if (fault.hold === 'beforeBody') {
    await line.wait((done) => world.gates.gate(fault.gate ?? DEFAULT_GATE).enter(done))
  }
  if (fault.stall === 'beforeBody') await line.wait(() => {})
  if (fault.cut?.at === 'beforeBody') await line.cut(fault.cut.how)
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
  const body = found ?? errorBody('chat', 404, `${path} was not found`)
  await deliver({
    line,
    gates: world.gates,
    fault,
    onOutput: ignore,
    headers: {},
    ...(wrongAnswer(fault, { skin: 'chat', failsInside: false }) ?? {
      httpStatus: found === null ? 404 : 200,
      payload: wholeJson(changedBody(JSON.stringify(body), fault)),
    }),
  })
}

async function answerPost(current: Exchange, format: Format, bytes: Buffer): Promise<void> {
  const { world, line, request } = current
  const refused = refusedKey(request.headers.authorization)
  const body = parseObject(bytes.toString())
  const model = body === null || typeof body['model'] !== 'string' ? null : body['model']
  const fault = takeFault(current, model)
  const wrong = wrongAnswer(fault, format)
  const base = { line, gates: world.gates, fault, onOutput: ignore, headers: {} }
  if (wrong !== null) {
    const id = world.nextGenerationId(world.nowMs())
    await deliver({ ...base, headers: generationHeader(id, fault), ...wrong })
    return
  }
  try {
    if (refused !== null) throw refused
    if (body === null) throw badRequest('The request body is not a JSON object')
    const input = answerInput({ world, format, body, model, fault })
    await deliverReply(current, { input, reply: format.answer(input), base })
  } catch (error) {
    const refusal = asRefusal(error)
    const text = JSON.stringify(errorBody(format.skin, refusal.httpStatus, refusal.message))
    await deliver({ ...base, httpStatus: refusal.httpStatus, payload: wholeJson(text) })
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

/** Any bearer token will do, but for those whose text says what is wrong with them. */
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
  const row = world.catalog.find(model)
  if (row === null) throw badRequest(`${model} is not a valid model ID`)
  if (row.pricing.prompt.startsWith('-')) throw badRequest(`${model} has no endpoints here`)
  const isFitting = row.architecture.output_modalities.includes(format.output)
  const traits = traitsOf(row.id)
  if (!isFitting || (format.path === '/completions' && !traits.completions)) {
    throw badRequest(`${model} can't be used with ${format.path}`)
  }
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
  const headers = generationHeader(input.generationId, fault)
  current.record?.noteGeneration(input.generationId)
  if (!reply.streamed) {
    // It runs, and is billed, whatever becomes of the connection.
    recordGeneration(current, { input, reply, outputTokens: reply.outputTokens, cancelled: false })
    const payload = wholeJson(changedBody(reply.whole(), fault))
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
      frames: reply.frames(),
      intervalMs: reply.intervalMs,
      errorFrame: reply.errorFrame,
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

function ignore(): void {}
