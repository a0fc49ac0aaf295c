import type { IncomingMessage, ServerResponse } from 'node:http'
import { DEFAULT_GATE } from './gates.ts'
import { type JsonObject, type JsonValue, objectOr, stringOr } from './json-value.ts'
import type { RecordedRequest } from './recorder.ts'
import type { World } from './world.ts'

/** Answers one request below `/simulator/`: the JavaScript interface over HTTP. */
export async function control(
  world: World,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { httpStatus, body } = await run(world, request)
  response.writeHead(httpStatus, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

interface ControlAnswer {
  readonly httpStatus: number
  readonly body: JsonObject
}

async function run(world: World, request: IncomingMessage): Promise<ControlAnswer> {
  const posted = await readJson(request)
  if (posted === MALFORMED) return refused('the body is not JSON')
  switch (`${request.method} ${request.url}`) {
    case 'GET /simulator/requests':
      return { httpStatus: 200, body: { requests: world.recorder.requests.map(requestJson) } }
    case 'POST /simulator/script':
      try {
        world.script.addJson(posted)
        return DONE
      } catch (error) {
        return refused(error instanceof Error ? error.message : 'not a fault')
      }
    case 'POST /simulator/release':
      return release(world, objectOr(posted))
    case 'POST /simulator/prices':
      return changePrices(world, objectOr(posted))
    case 'POST /simulator/reset':
      world.reset()
      return DONE
    default:
      return { httpStatus: 404, body: { error: { message: 'no such control' } } }
  }
}

function release(world: World, { gate, count }: JsonObject): ControlAnswer {
  const name = typeof gate === 'string' ? gate : DEFAULT_GATE
  world.gates.gate(name).release(typeof count === 'number' ? count : undefined)
  return DONE
}

function changePrices(world: World, { id, pricing }: JsonObject): ControlAnswer {
  const row = world.catalog.find(stringOr(id))
  if (row === null) return refused('no such model')
  const prices = Object.entries(objectOr(pricing)).filter(([, price]) => typeof price === 'string')
  world.catalog.change(row.id, { pricing: Object.fromEntries(prices) })
  return DONE
}

const DONE: ControlAnswer = { httpStatus: 200, body: { ok: true } }
const MALFORMED = Symbol('malformed')

function refused(message: string): ControlAnswer {
  return { httpStatus: 400, body: { error: { message } } }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return MALFORMED
  }
}

function requestJson(request: RecordedRequest): JsonValue {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: request.body.toString(),
    body_base64: request.body.toString('base64'),
    ending: request.ending,
    generation_id: request.generationId,
  }
}
