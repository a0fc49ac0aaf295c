import type { IncomingMessage, ServerResponse } from 'node:http'
import { Catalog, traitsOf } from './catalog.ts'
import { type DeliverInput, deliver, type Payload } from './delivery.ts'
import { errorBody, htmlErrorPage, leakyErrorBody, type Skin } from './error-bodies.ts'
import { DEFAULT_MARKER, type Fault, FaultScript, NO_FAULT, omits } from './faults.ts'
import type { AnswerInput, Format, Pace, Reply } from './formats/format.ts'
import { FORMATS_BY_PATH } from './formats/formats.ts'
import { Gates } from './gates.ts'
import { Generations } from './generations.ts'
import { type JsonObject, parseObject } from './json-value.ts'
import { Line } from './line.ts'
import { PrefixMemory } from './prompt-meter.ts'
import { RecordedRequest, Recorder } from './recorder.ts'
import { badRequest, Refusal } from './refusal.ts'

/** All that the simulator remembers between requests. */
export class World {
  readonly catalog = new Catalog()
  readonly script = new FaultScript()
  readonly gates = new Gates()
  readonly generations = new Generations()
  readonly recorder = new Recorder()
  readonly prefixes = new PrefixMemory()
  readonly isRecording: boolean
  readonly pace: Pace
  readonly nowMs: () => number
  /** Requests answered or refused so far, control requests apart. */
  requestCount = 0
  #generationCount = 0

  constructor(input: {
    readonly isRecording: boolean
    readonly pace: Pace
    readonly nowMs: () => number
  }) {
    this.isRecording = input.isRecording
    this.pace = input.pace
    this.nowMs = input.nowMs
  }

  /** A fresh `gen-<unix>-<20 characters>` id. */
  nextGenerationId(nowMs: number): string {
    this.#generationCount += 1
    const count = this.#generationCount.toString(36).padStart(8, '0')
    return `gen-${Math.floor(nowMs / 1000)}-${RUN_TAG}${count}`
  }

  /** As it was at the start; requests under way run on. */
  reset(): void {
    this.catalog.restore()
    this.script.clear()
    this.gates.clear()
    this.generations.clear()
    this.recorder.clear()
    this.prefixes.clear()
    this.requestCount = 0
  }
}

const RUN_TAG = crypto.randomUUID().replaceAll('-', '').slice(0, 12)
const JSON_TYPE = 'application/json'

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
    recordRequest(current, Buffer.alloc(0))
    await strikeBeforeBody(current, early)
    if (line.isClosed || early.cut?.at === 'beforeBody') return
  }
  const body = await readBody(request)
  if (body === null) return
  if (early === null) recordRequest(current, body)
  if (format === null) await answerGet(current)
  else await answerPost(current, format, body)
}

function recordRequest(current: Exchange, body: Buffer): void {
  const { world, request, path, query, format } = current
  if (!world.isRecording) return
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
    await line.wait((done) => world.gates.gate(fault.gate ?? 'gate').enter(done))
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
  const { world, path, line } = current
  const fault = takeFault(current, null)
  const found = current.request.method === 'GET' ? readGet(current) : null
  const body = found ?? errorBody('chat', 404, `${path} was not found`)
  await deliver({
    line,
    gates: world.gates,
    fault,
    onOutput: ignore,
    headers: {},
    ...(wrongAnswer(fault, 'chat') ?? {
      httpStatus: found === null ? 404 : 200,
      payload: wholeJson(changedBody(JSON.stringify(body), fault)),
    }),
  })
}

const IMAGE_ENDPOINTS = /^\/images\/models\/([^/]+\/[^/]+)\/endpoints$/

function readGet({ world, path, query }: Exchange): JsonObject | null {
  const search = new URLSearchParams(query)
  switch (path) {
    case '/models':
      return world.catalog.list(search)
    case '/images/models':
      return world.catalog.listImages()
    case '/generation':
      return world.generations.ask(search.get('id') ?? '')
    case '/key':
      return KEY
    default: {
      const match = IMAGE_ENDPOINTS.exec(path)
      return match === null
        ? null
        : world.catalog.imageEndpoints(decodeURIComponent(match[1] ?? ''))
    }
  }
}

const KEY: JsonObject = {
  data: {
    label: 'simulator',
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    include_byok_in_limit: false,
    usage: 0,
    usage_daily: 0,
    usage_weekly: 0,
    usage_monthly: 0,
    byok_usage: 0,
    is_free_tier: false,
    is_management_key: false,
    rate_limit: { requests: -1, interval: '10s', note: 'none' },
  },
}

async function answerPost(current: Exchange, format: Format, bytes: Buffer): Promise<void> {
  const { world, line, request } = current
  const refused = refusedKey(request.headers.authorization)
  const body = parseObject(bytes.toString())
  const model = body === null || typeof body['model'] !== 'string' ? null : body['model']
  const fault = takeFault(current, model)
  const wrong = wrongAnswer(fault, format.skin)
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
  const isFitting = row.architecture.output_modalities.includes(format.output)
  const traits = traitsOf(row.id)
  if (!isFitting || (format.path === '/completions' && !traits.completions)) {
    throw badRequest(`${model} can't be used with ${format.path}`)
  }
  const nowMs = world.nowMs()
  const generationId = world.nextGenerationId(nowMs)
  return {
    body,
    row,
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

/** What the fault answers in the answer's place; null where it leaves the answer be. */
function wrongAnswer(
  fault: Fault,
  skin: Skin,
): { readonly httpStatus: number; readonly payload: Payload } | null {
  if (fault === NO_FAULT) return null
  const httpStatus = fault.status ?? 200
  if (fault.rawBody !== undefined) return { httpStatus, payload: wholeJson(fault.rawBody) }
  if (fault.answer === 'empty') return { httpStatus, payload: wholeJson('') }
  if (fault.status === undefined && fault.answer !== 'errorObject') return null
  const named = fault.status ?? 502
  switch (fault.errorBody ?? 'json') {
    case 'empty':
      return { httpStatus, payload: wholeJson('') }
    case 'html': {
      const text = htmlErrorPage(named, fault.marker ?? DEFAULT_MARKER)
      return { httpStatus, payload: { kind: 'whole', text, contentType: 'text/html' } }
    }
    case 'skinless':
      return {
        httpStatus,
        payload: wholeJson(JSON.stringify(leakyErrorBody('chat', named, fault))),
      }
    case 'json':
      return { httpStatus, payload: wholeJson(JSON.stringify(leakyErrorBody(skin, named, fault))) }
  }
}

/** A whole body as the fault wants it: a stream has its own ways to be wrong. */
function changedBody(text: string, fault: Fault): string {
  switch (fault.answer) {
    case 'malformedJson':
      return `${text.slice(0, -1)},,}`
    case 'truncatedJson':
      return text.slice(0, Math.ceil(text.length / 2))
    default:
      return text
  }
}

function wholeJson(text: string): Payload {
  return { kind: 'whole', text, contentType: JSON_TYPE }
}

function ignore(): void {}
