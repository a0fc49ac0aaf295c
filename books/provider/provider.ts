import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, rawMember, textsIn } from '../json.ts'
import { ANSWER_TOKENS_MAX, Bill, type End, type Line, microsOf } from './bill.ts'
import { CHAT, type Format, MESSAGES } from './formats.ts'
import { readScript, type Script } from './script.ts'

/** The provider that the suite plays, while it listens. */
export interface Provider {
  readonly port: number
  readonly bill: Bill
  close(): Promise<void>
}

/** The key that a gateway is given for the provider. */
export const PROVIDER_KEY = 'sk-books-provider-4f1d7c2a9e6b8350'

/** The models: `books-1` has a price in the gateway, the other none. */
export const MODELS = ['books-1', 'books-unpriced']

const FORMATS = new Map<string, Format>([
  ['/v1/chat/completions', CHAT],
  ['/v1/messages', MESSAGES],
])

// Data right before a reset is thrown away by the kernel, and a fault would test that.
const BEFORE_FAULT_MS = 5
const LATE_MS = 2_000

/** Starts the provider; port 0 takes a free one. */
export async function startProvider(port = 0): Promise<Provider> {
  const bill = new Bill()
  const server = createServer((request, response) => {
    // The gateway's end of a connection is an ending like others.
    response.on('error', () => {})
    answer(bill, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = 60_000
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    bill,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function answer(
  bill: Bill,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const json = Buffer.concat(chunks).toString()
  if (pathname === '/v1/models') {
    const rows = MODELS.map((id) => ({
      id,
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'books',
    }))
    return sendJson(response, 200, JSON.stringify({ object: 'list', data: rows }))
  }
  if (pathname === '/bill') {
    const lines = bill.lines(searchParams.get('prefix') ?? '')
    const rows = lines.map(({ script: _, ...line }, index) => ({
      ...line,
      micros: microsOf(lines[index] ?? fail('a line without a script')),
    }))
    return sendJson(response, 200, JSON.stringify(rows))
  }
  const format = FORMATS.get(pathname)
  if (format === undefined || request.method !== 'POST')
    return sendJson(response, 404, CHAT.error(404, `nothing at ${pathname}`))
  await complete({ bill, format, json, response })
}

interface Exchange {
  readonly bill: Bill
  readonly format: Format
  readonly json: string
  readonly response: ServerResponse
}

async function complete({ bill, format, json, response }: Exchange): Promise<void> {
  const body: unknown = JSON.parse(json)
  if (!isRecord(body)) return sendJson(response, 400, format.error(400, 'the body is no object'))
  const script = textsIn(body['messages'])
    .map(readScript)
    .findLast((found) => found !== null)
  if (!script) return sendJson(response, 400, format.error(400, 'the prompt has no books:{"id":…}'))
  const model = String(body['model'])
  const cap = Math.min(format.cap(body) ?? ANSWER_TOKENS_MAX, ANSWER_TOKENS_MAX)
  const line = bill.open({
    id: script.id,
    model,
    script,
    messagesHash: hashOf(rawMember(json, 'messages')),
    toolsHash: hashOf(rawMember(json, 'tools')),
    outMax: Math.min(script.out, cap),
  })
  const ended = (end: End): void => {
    if (line.end === 'running') line.end = end
  }
  const fault = script.times === null || line.arrival <= script.times ? script.fault : null
  response.on('close', () => ended(fault === 'hang' ? 'hung' : 'left'))
  if (fault === 'hang') return
  if (script.wait > 0) await sleep(script.wait)
  if (line.end !== 'running') return
  if (fault !== null && /^\d/.test(fault)) {
    ended('refused')
    const message = refusalOf(fault, json)
    return sendJson(response, Number(fault), format.error(Number(fault), message))
  }
  const isStream = body['stream'] === true
  const counted =
    script.usage !== 'never' && (!isStream || script.usage === 'zero' || format.wantsUsage(body))
  const events = format.events({ script, model, out: line.outMax, counted })
  const sending = { line, script: { ...script, fault }, response, ended, events }
  if (isStream) await sendStream(sending)
  else await sendWhole(sending, format.body({ script, model, out: line.outMax, counted }))
}

/** What a refusal says. The provider of a careless maker repeats what it was sent. */
function refusalOf(fault: string, json: string): string {
  if (fault === '400') return `unreadable message: ${json}`
  if (fault === '401') return `Incorrect API key provided: ${PROVIDER_KEY}`
  return `provider-words: status ${fault}`
}

interface Sending {
  readonly line: Line
  readonly script: Script
  readonly response: ServerResponse
  readonly ended: (end: End) => void
  readonly events: ReturnType<Format['events']>
}

async function sendWhole({ line, script, response, ended }: Sending, text: string): Promise<void> {
  if (script.gap > 0) {
    for (; line.out < line.outMax && line.end === 'running'; line.out++) await sleep(script.gap)
    if (line.end !== 'running') return
  }
  if (script.fault === 'drop' || script.fault === 'lost') {
    line.out = Math.min(script.after, line.outMax)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
    response.write(text.slice(0, text.length / 2))
    await sleep(BEFORE_FAULT_MS)
    ended(script.fault === 'drop' ? 'dropped' : 'lost')
    response.socket?.resetAndDestroy()
    return
  }
  line.out = line.outMax
  ended('whole')
  sendJson(response, 200, text)
}

async function sendStream(sending: Sending): Promise<void> {
  const { line, script, response, ended, events } = sending
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events.before) response.write(event)
  while (line.out < line.outMax) {
    if (script.fault === 'drop' && line.out >= script.after) return breakOff(sending, 'dropped')
    if (!response.write(events.token(line.out))) await drained(response)
    if (line.end !== 'running') return
    line.out++
    if (script.gap > 0) await sleep(script.gap)
    if (line.end !== 'running') return
  }
  if (script.fault === 'lost') return breakOff(sending, 'lost')
  for (const event of events.after) response.write(event)
  // The work is done: who leaves now owes all of it.
  ended('whole')
  if (script.usage === 'late') await sleep(LATE_MS)
  for (const event of events.usage) response.write(event)
  response.end()
}

async function breakOff({ response, ended }: Sending, end: End): Promise<void> {
  await sleep(BEFORE_FAULT_MS)
  ended(end)
  response.socket?.resetAndDestroy()
}

async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return
  const leaving = new AbortController()
  const { signal } = leaving
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })])
  leaving.abort()
}

function sendJson(response: ServerResponse, httpStatus: number, text: string): void {
  response.writeHead(httpStatus, { 'content-type': 'application/json' })
  response.end(text)
}

function hashOf(text: string | null): string {
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex')
}

function fail(message: string): never {
  throw new Error(message)
}
