import { connect } from 'node:net'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { isObject, type JsonObject, parseObject } from '../json-value.ts'
import { type Simulator, startSimulator } from '../simulator.ts'

/** A simulator for all tests of a file. After each test it is reset. */
export function simulatorOfFile(input: Parameters<typeof startSimulator>[0] = {}): Simulator {
  const simulator = {} as Simulator
  beforeAll(async () => {
    // Some of its members are getters.
    const members = Object.getOwnPropertyDescriptors(await startSimulator(input))
    Object.defineProperties(simulator, members)
  })
  afterEach(() => simulator.reset())
  afterAll(() => simulator.close())
  return simulator
}

/** OpenAI's own client of a simulator. */
export function openaiOf({ baseUrl }: Simulator): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 })
}

/** Posts a body below `/v1`, as JSON unless it is text already. */
export function post(simulator: Simulator, path: string, body: unknown): Promise<Response> {
  return postAs({ simulator, path, body })
}

/** Posts with a bearer token of one's own, or with a way to hang up. */
export function postAs(input: {
  readonly simulator: Simulator
  readonly path: string
  readonly body: unknown
  /** Default `sk-test`. */
  readonly token?: string
  readonly signal?: AbortSignal
}): Promise<Response> {
  const { simulator, path, body, token = 'sk-test' } = input
  return fetch(simulator.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
  })
}

/** A chat request of one question. */
export function question(content: string, more: JsonObject = {}): JsonObject {
  return { model: 'sim/text', messages: [{ role: 'user', content }], ...more }
}

/** The body of an answer as an object. Throws where it is none. */
export async function jsonOf(response: Response): Promise<JsonObject> {
  const text = await response.text()
  const value = parseObject(text)
  if (value === null) throw new Error(`no JSON object: ${text}`)
  return value
}

/** The value at this path of names and places. Throws where there is nothing. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found: unknown = value
  for (const step of path) {
    if (Array.isArray(found) && typeof step === 'number') found = found.at(step)
    else if (isObject(found) && typeof step === 'string') found = found[step]
    else throw new Error(`nothing at ${path.join('.')}`)
  }
  return found
}

/** One event of a stream. */
interface SeenEvent {
  readonly name: string | null
  readonly text: string
}

/** The events of a whole stream's text; comments are left out. */
export function eventsOf(text: string): readonly SeenEvent[] {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const lines = frame.split('\n')
      const name = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length)
      const dataLine = lines.find((line) => line.startsWith('data: ')) ?? ''
      return { name: name ?? null, text: dataLine.slice('data: '.length) }
    })
}

/** The events that are JSON, parsed. */
export function jsonEventsOf(text: string): readonly JsonObject[] {
  return eventsOf(text).flatMap((event) => {
    const value = parseObject(event.text)
    return value === null ? [] : [value]
  })
}

/** A weather tool, as chat spells it. */
export const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
    },
  },
} as const

/** The bytes received over a bare socket until it ended. */
interface RawAnswer {
  /** The status line and headers; empty where none came. */
  readonly head: string
  /** The bytes of the body on the wire, including chunk framing. */
  readonly wire: Buffer
  /** The body's own bytes; of a chunk that was cut short, those that came. */
  readonly body: Buffer
  /** The sizes of its HTTP chunks. */
  readonly chunkSizes: readonly number[]
  /** `ECONNRESET` and its like; null after an orderly close. */
  readonly errorCode: string | null
}

/** Posts over a bare socket, and collects every byte until the connection is over. */
export async function rawPost(
  simulator: Simulator,
  path: string,
  body: unknown,
): Promise<RawAnswer> {
  const text = JSON.stringify(body)
  const socket = connect(simulator.port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(
    `POST /v1${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-test\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
  const errorCode = await new Promise<string | null>((resolve) => {
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    socket.once('close', () => resolve(null))
  })
  const all = Buffer.concat(chunks)
  const end = all.indexOf('\r\n\r\n')
  const head = end === -1 ? '' : all.subarray(0, end).toString()
  const wire = end === -1 ? Buffer.alloc(0) : all.subarray(end + 4)
  const unframed = head.includes('chunked') ? unchunk(wire) : { body: wire, chunkSizes: [] }
  return { head, wire, errorCode, ...unframed }
}

function unchunk(wire: Buffer): { readonly body: Buffer; readonly chunkSizes: readonly number[] } {
  const parts: Buffer[] = []
  const chunkSizes: number[] = []
  let offset = 0
  while (offset < wire.length) {
    const lineEnd = wire.indexOf('\r\n', offset)
    if (lineEnd === -1) break
    const size = Number.parseInt(wire.subarray(offset, lineEnd).toString(), 16)
    if (size === 0) break
    chunkSizes.push(size)
    parts.push(wire.subarray(lineEnd + 2, lineEnd + 2 + size))
    offset = lineEnd + 2 + size + 2
  }
  return { body: Buffer.concat(parts), chunkSizes }
}
