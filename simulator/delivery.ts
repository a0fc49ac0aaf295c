import { brotliCompressSync, gzipSync } from 'node:zlib'
import { type Fault, NO_FAULT, type Place } from './faults.ts'
import { DONE_FRAME, type Frame } from './formats/format.ts'
import { DEFAULT_GATE, type Gates } from './gates.ts'
import type { Line } from './line.ts'

/** The bytes to send: a whole body, or the frames of a stream. */
export type Payload =
  | { readonly kind: 'whole'; readonly text: string; readonly contentType: string }
  | {
      readonly kind: 'stream'
      readonly frames: Iterable<Frame>
      readonly intervalMs: number | null
      /** The event that ends it in error, if the fault has one. */
      readonly errorFrame: () => string
    }

export interface DeliverInput {
  readonly line: Line
  readonly httpStatus: number
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Payload
  readonly fault: Fault
  readonly gates: Gates
  /** Called with the number of output tokens that were sent. */
  readonly onOutput: (outputTokens: number) => void
}

interface Chunk {
  readonly bytes: string | Buffer
  readonly outputTokens: number
  /** Events complete once this chunk is sent. */
  readonly events: number
}

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

/** Sends an answer as its fault wants it sent. Returns once it is sent or cut, or the client left. */
export async function deliver(input: DeliverInput): Promise<void> {
  if (input.fault === NO_FAULT) {
    await deliverPlainly(input)
    return
  }
  const { line, fault, payload } = input
  const plan = new Plan(input)
  if (await plan.isOverAt('beforeHeaders')) return
  const chunks = chunksOf(payload, fault)
  const coded = fault.contentEncoding === undefined ? chunks : [encoded(chunks, fault)]
  line.response.writeHead(input.httpStatus, headersOf(input))
  if (await plan.isOverAt('afterHeaders')) return
  const { drip } = fault
  for (const chunk of split(coded, fault)) {
    await line.write(chunk.bytes)
    input.onOutput(chunk.outputTokens)
    if (await plan.isOverAfter(chunk)) return
    if (drip !== undefined) {
      await line.flush()
      await line.pause(drip.everyMs)
    } else if (payload.kind === 'stream') await line.beat(payload.intervalMs)
    if (line.isClosed) return
  }
  line.response.end()
}

async function deliverPlainly(input: DeliverInput): Promise<void> {
  const { line, payload } = input
  const { response } = line
  if (payload.kind === 'whole') {
    const length = String(Buffer.byteLength(payload.text))
    response.writeHead(input.httpStatus, {
      'content-type': payload.contentType,
      'content-length': length,
      ...input.headers,
    })
    response.end(payload.text)
    return
  }
  response.writeHead(input.httpStatus, { ...STREAM_HEADERS, ...input.headers })
  for (const frame of payload.frames) {
    await line.write(frame.text)
    input.onOutput(frame.outputTokens)
    await line.beat(payload.intervalMs)
    if (line.isClosed) return
  }
  response.end()
}

function headersOf(input: DeliverInput): Record<string, string> {
  const { fault, payload } = input
  const own =
    payload.kind === 'whole' ? { 'content-type': payload.contentType } : { ...STREAM_HEADERS }
  const coding = fault.contentEncoding
  return {
    ...own,
    ...input.headers,
    ...(coding === undefined ? {} : { 'content-encoding': coding === 'br' ? 'br' : 'gzip' }),
    ...fault.headers,
  }
}

/** Keeps watch for the places where an answer is held, stalled or cut. */
class Plan {
  readonly #input: DeliverInput
  #bytes = 0
  #holdDone = false

  constructor(input: DeliverInput) {
    this.#input = input
  }

  /** Comes to a named place; true where the exchange ends there. */
  async isOverAt(place: 'beforeHeaders' | 'afterHeaders'): Promise<boolean> {
    const zero = place === 'afterHeaders'
    return this.#isOver((wanted) => wanted === place || (zero && isReached(wanted, 0, 0)))
  }

  /** Comes to the end of a chunk; true where the exchange ends there. */
  async isOverAfter(chunk: Chunk): Promise<boolean> {
    this.#bytes += Buffer.byteLength(chunk.bytes)
    return this.#isOver((wanted) => isReached(wanted, this.#bytes, chunk.events))
  }

  async #isOver(reached: (wanted: Place) => boolean): Promise<boolean> {
    const { line, fault, gates } = this.#input
    const { hold, stall, cut } = fault
    if (hold !== undefined && !this.#holdDone && reached(hold)) {
      this.#holdDone = true
      if (hold !== 'beforeHeaders') await line.flush()
      await line.wait((done) => gates.gate(fault.gate ?? DEFAULT_GATE).enter(done))
    }
    if (stall !== undefined && reached(stall)) {
      if (stall !== 'beforeHeaders') await line.flush()
      await line.wait(() => {})
    }
    if (cut !== undefined && reached(cut.at) && !line.isClosed) {
      if (cut.at !== 'beforeHeaders') await line.flush()
      await line.cut(cut.how)
      return true
    }
    return line.isClosed
  }
}

function isReached(wanted: Place, bytes: number, events: number): boolean {
  if (typeof wanted === 'string') return false
  return 'afterBytes' in wanted ? bytes >= wanted.afterBytes : events >= wanted.afterEvents
}

function* chunksOf(payload: Payload, fault: Fault): Generator<Chunk> {
  if (payload.kind === 'whole') {
    yield { bytes: spoil(payload.text, fault), outputTokens: Number.MAX_SAFE_INTEGER, events: 1 }
    return
  }
  const perWrite = fault.eventsPerWrite ?? 1
  let held = ''
  let heldEvents = 0
  let events = 0
  let outputTokens = 0
  for (const frame of amended(payload.frames, payload.errorFrame, fault)) {
    const isEvent = !frame.text.startsWith(':')
    if (isEvent) events += 1
    heldEvents += isEvent ? 1 : 0
    held += frame.text
    outputTokens = frame.outputTokens
    if (heldEvents < perWrite) continue
    yield { bytes: spoil(held, fault), outputTokens, events }
    held = ''
    heldEvents = 0
  }
  if (held !== '') yield { bytes: spoil(held, fault), outputTokens, events }
}

/** The frames with the fault's own events between or instead of them. */
function* amended(
  frames: Iterable<Frame>,
  errorFrame: () => string,
  fault: Fault,
): Generator<Frame> {
  let events = 0
  let outputTokens = 0
  let isDone = false
  for (const frame of frames) {
    if (fault.errorEvent !== undefined && events >= fault.errorEvent.afterEvents) break
    if (!frame.text.startsWith(':')) events += 1
    outputTokens = frame.outputTokens
    isDone = frame.text === DONE_FRAME
    yield frame
    if (fault.answer === 'malformedJson' && events === 1 && !frame.text.startsWith(':')) {
      yield { text: 'data: {"id":"gen-\n\n', outputTokens }
    }
  }
  if (fault.errorEvent !== undefined) yield { text: errorFrame(), outputTokens }
  else if (fault.dataOnlyEvents === true && !isDone) yield { text: DONE_FRAME, outputTokens }
}

function spoil(text: string, fault: Fault): string {
  let damaged = text
  if (fault.rewrite !== undefined) {
    damaged = damaged.replace(new RegExp(fault.rewrite.pattern, 'g'), fault.rewrite.replacement)
  }
  if (fault.lineEnds === 'crlf') damaged = damaged.replaceAll('\n', '\r\n')
  return damaged
}

function encoded(chunks: Iterable<Chunk>, fault: Fault): Chunk {
  const all: Buffer[] = []
  let outputTokens = 0
  let events = 0
  for (const chunk of chunks) {
    all.push(typeof chunk.bytes === 'string' ? Buffer.from(chunk.bytes) : chunk.bytes)
    outputTokens = chunk.outputTokens
    events = chunk.events
  }
  const plain = Buffer.concat(all)
  if (fault.contentEncoding === 'br') {
    return { bytes: brotliCompressSync(plain), outputTokens, events }
  }
  const bytes = fault.contentEncoding === 'gzip' ? gzipSync(plain) : plain
  return { bytes, outputTokens, events }
}

/** Cuts chunks smaller, so that each byte on which the fault waits ends one. */
function* split(chunks: Iterable<Chunk>, fault: Fault): Generator<Chunk> {
  const edges = [fault.hold, fault.stall, fault.cut?.at].flatMap((place) =>
    typeof place === 'object' && 'afterBytes' in place ? [place.afterBytes] : [],
  )
  const most = fault.drip?.bytes ?? Number.POSITIVE_INFINITY
  if (edges.length === 0 && most === Number.POSITIVE_INFINITY) {
    yield* chunks
    return
  }
  let sent = 0
  let outputBefore = 0
  let eventsBefore = 0
  for (const chunk of chunks) {
    let rest = typeof chunk.bytes === 'string' ? Buffer.from(chunk.bytes) : chunk.bytes
    while (rest.length > 0) {
      const toEdges = edges.filter((edge) => edge > sent).map((edge) => edge - sent)
      const length = Math.min(rest.length, most, ...toEdges)
      const isLast = length === rest.length
      const outputTokens = isLast ? chunk.outputTokens : outputBefore
      const events = isLast ? chunk.events : eventsBefore
      yield { bytes: rest.subarray(0, length), outputTokens, events }
      rest = rest.subarray(length)
      sent += length
    }
    outputBefore = chunk.outputTokens
    eventsBefore = chunk.events
  }
}
