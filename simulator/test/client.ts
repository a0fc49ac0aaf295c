import { isObject, type JsonObject, parseObject } from '../json-value.ts'
import type { Simulator } from '../simulator.ts'

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
export interface SeenEvent {
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
