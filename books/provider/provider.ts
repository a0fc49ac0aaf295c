import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, parseJson, rawMember, textsIn, valueAt } from '../json.ts'
import { ANSWER_TOKENS_MAX, endLine, type Line, microsOf, openLine } from './bill.ts'
import { FORMATS, type Said } from './formats.ts'
import { readScript } from './script.ts'

/** The provider that the suite plays, while it listens. */
export type Provider = Awaited<ReturnType<typeof startProvider>>

/** The key that a gateway is given for the provider. */
export const PROVIDER_KEY = 'sk-books-provider-4f1d7c2a9e6b8350'

/** The models: the first has a price in the gateway, the other none. */
export const PRICED = 'books-1'
export const UNPRICED = 'books-unpriced'

// Data right before a reset is thrown away by the kernel, and a fault would test that.
const BEFORE_FAULT_MS = 5
const LATE_MS = 2_000
const JSON_TYPE = { 'content-type': 'application/json' }

/** Starts the provider; port 0 takes a free one. */
export async function startProvider(port = 0) {
  const bill: Line[] = []
  const server = createServer((request, response) => {
    // The gateway's end of a connection is an ending like others.
    response.on('error', () => {})
    answer(bill, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  return {
    port: await listen(server, port),
    /** The arrivals, in order. */
    bill: bill as readonly Line[],
    async close(): Promise<void> {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

/** Has a server listen on this machine alone, and returns its port; 0 takes a free one. */
export async function listen(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

const MODELS = [PRICED, UNPRICED].map((id) => ({ id, object: 'model', owned_by: 'books' }))

async function answer(bill: Line[], request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
  const json = await text(request)
  if (pathname === '/v1/models') return sendJson(response, 200, { object: 'list', data: MODELS })
  if (pathname === '/bill') {
    const prefix = searchParams.get('prefix') ?? ''
    return sendJson(response, 200, bill.filter(({ id }) => id.startsWith(prefix)).map(shown))
  }
  const format = FORMATS.get(pathname)
  if (format === undefined || request.method !== 'POST')
    return refuse(response, 404, `nothing at ${pathname}`)
  const body = parseJson(json)
  const texts = isRecord(body) ? textsIn(body['messages']) : []
  const script = texts.map(readScript).findLast((found) => found !== null)
  if (!isRecord(body) || !script) return refuse(response, 400, 'the prompt has no books:{"id":…}')
  const model = String(body['model'])
  const caps = [body['max_completion_tokens'], body['max_tokens']]
  const cap = caps.find((value) => typeof value === 'number')
  const outMax = Math.min(script.out, cap ?? ANSWER_TOKENS_MAX, ANSWER_TOKENS_MAX)
  const line = openLine(bill, { id: script.id, model, script, json, outMax })
  response.on('close', () => endLine(line, line.fault === 'hang' ? 'hung' : 'left'))
  if (line.fault === 'hang') return
  await sleep(script.wait)
  if (line.end !== 'running') return
  if (line.fault !== null && /^\d/.test(line.fault)) {
    endLine(line, 'refused')
    return refuse(response, Number(line.fault), refusalOf(line))
  }
  const isStream = body['stream'] === true
  const isChat = pathname === '/v1/chat/completions'
  const isAsked = !isChat || valueAt(body, 'stream_options.include_usage') === true
  const isTold = !isStream || isAsked || script.usage === 'zero'
  const counted = isTold && script.usage !== 'never'
  const said = format({ script, model, out: outMax, counted })
  if (isStream) await sendStream(line, response, said)
  else await sendWhole(line, response, JSON.stringify(said.body()))
}

/** A line of the bill, as `GET /bill` prints it. */
function shown(line: Line): object {
  const { script: _, fault: __, json, ...more } = line
  const hashOf = (name: string): string => hash('sha256', rawMember(json, name))
  const hashes = { messagesHash: hashOf('messages'), toolsHash: hashOf('tools') }
  return { ...more, micros: microsOf(line), ...hashes }
}

/** The text of a refusal. A careless provider repeats the request in it. */
function refusalOf({ fault, json }: Line): string {
  if (fault === '400') return `unreadable message: ${json}`
  if (fault === '401') return `Incorrect API key provided: ${PROVIDER_KEY}`
  return `provider-words: status ${fault}`
}

async function sendWhole(line: Line, response: ServerResponse, json: string): Promise<void> {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': json.length })
  if (line.fault === 'drop' || line.fault === 'lost') {
    line.out = Math.min(line.script.after, line.outMax)
    response.write(json.slice(0, json.length / 2))
    return breakOff(line, response)
  }
  line.out = line.outMax
  endLine(line, 'whole')
  response.end(json)
}

async function sendStream(line: Line, response: ServerResponse, said: Said): Promise<void> {
  const { gap, after, usage } = line.script
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of said.before) response.write(event)
  for (; line.out < line.outMax; line.out++) {
    if (line.fault === 'drop' && line.out >= after) return breakOff(line, response)
    response.write(said.token(line.out))
    await (gap > 0 ? sleep(gap) : null)
    if (line.end !== 'running') return
  }
  if (line.fault === 'lost') return breakOff(line, response)
  for (const event of said.after) response.write(event)
  // The work is done: who leaves now owes all of it.
  endLine(line, 'whole')
  if (usage === 'late') await sleep(LATE_MS)
  for (const event of said.usage) response.write(event)
  response.end()
}

async function breakOff(line: Line, response: ServerResponse): Promise<void> {
  await sleep(BEFORE_FAULT_MS)
  endLine(line, line.fault === 'lost' ? 'lost' : 'dropped')
  response.socket?.resetAndDestroy()
}

/** Refuses, as both formats say it. */
function refuse(response: ServerResponse, httpStatus: number, message: string): void {
  const type = httpStatus < 500 ? 'invalid_request_error' : 'api_error'
  sendJson(response, httpStatus, { type: 'error', error: { message, type } })
}

function sendJson(response: ServerResponse, httpStatus: number, body: unknown): void {
  response.writeHead(httpStatus, JSON_TYPE).end(JSON.stringify(body))
}
