import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, parseJson, rawMember, textsIn } from '../json.ts'
import { ANSWER_TOKENS_MAX, Bill, type End, type Line, microsOf } from './bill.ts'
import { CHAT, type Events, errorOf, type Format, MESSAGES } from './formats.ts'
import { readScript, type Script } from './script.ts'

/** The provider that the suite plays, while it listens. */
export interface Provider {
  readonly port: number
  readonly bill: Bill
  close(): Promise<void>
}

/** The key that a gateway is given for the provider. */
export const PROVIDER_KEY = 'sk-books-provider-4f1d7c2a9e6b8350'

/** The models: the first has a price in the gateway, the other none. */
export const PRICED = 'books-1'
export const UNPRICED = 'books-unpriced'

const FORMATS = new Map([
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
  return {
    port: await listen(server, port),
    bill,
    async close() {
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

async function answer(
  bill: Bill,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
  const json = await text(request)
  if (pathname === '/v1/models') {
    const rest = { object: 'model', created: 1_700_000_000, owned_by: 'books' }
    const rows = [PRICED, UNPRICED].map((id) => ({ id, ...rest }))
    return sendJson(response, 200, { object: 'list', data: rows })
  }
  if (pathname === '/bill')
    return sendJson(response, 200, bill.lines(searchParams.get('prefix') ?? '').map(shown))
  const format = FORMATS.get(pathname)
  if (format === undefined || request.method !== 'POST')
    return refuse(response, 404, `nothing at ${pathname}`)
  await complete({ bill, format, json, response })
}

/** A line of the bill, as `GET /bill` prints it. */
function shown({ script: _, json, ...line }: Line, index: number, lines: readonly Line[]): object {
  const hash = (name: string): string =>
    createHash('sha256').update(rawMember(json, name)).digest('hex')
  const micros = microsOf(...lines.slice(index, index + 1))
  return { ...line, micros, messagesHash: hash('messages'), toolsHash: hash('tools') }
}

interface Exchange {
  readonly bill: Bill
  readonly format: Format
  readonly json: string
  readonly response: ServerResponse
}

async function complete({ bill, format, json, response }: Exchange): Promise<void> {
  const body = parseJson(json)
  const texts = isRecord(body) ? textsIn(body['messages']) : []
  const script = texts.map(readScript).findLast((found) => found !== null)
  if (!isRecord(body) || !script) return refuse(response, 400, 'the prompt has no books:{"id":…}')
  const model = String(body['model'])
  const caps = format.caps.map((name) => body[name]).filter((cap) => typeof cap === 'number')
  const outMax = Math.min(script.out, caps[0] ?? ANSWER_TOKENS_MAX, ANSWER_TOKENS_MAX)
  const line = bill.open({ id: script.id, model, script, json, outMax })
  const ended = (end: End): void => {
    if (line.end === 'running') line.end = end
  }
  const fault = script.times === null || line.arrival <= script.times ? script.fault : null
  response.on('close', () => ended(fault === 'hang' ? 'hung' : 'left'))
  if (fault === 'hang') return
  await sleep(script.wait)
  if (line.end !== 'running') return
  if (fault !== null && /^\d/.test(fault)) {
    ended('refused')
    return refuse(response, Number(fault), refusalOf(fault, json))
  }
  const isStream = body['stream'] === true
  const isAsked = !isStream || script.usage === 'zero' || format.wantsUsage(body)
  const said = { script, model, out: outMax, counted: script.usage !== 'never' && isAsked }
  const sending = { line, script: { ...script, fault }, response, ended }
  if (isStream) await sendStream(sending, format.events(said))
  else await sendWhole(sending, JSON.stringify(format.body(said)))
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
}

async function sendWhole(sending: Sending, json: string): Promise<void> {
  const { line, script, response, ended } = sending
  for (; script.gap > 0 && line.out < line.outMax; line.out++) {
    await sleep(script.gap)
    if (line.end !== 'running') return
  }
  const head = { 'content-type': 'application/json', 'content-length': json.length }
  response.writeHead(200, head)
  if (script.fault === 'drop' || script.fault === 'lost') {
    line.out = Math.min(script.after, line.outMax)
    response.write(json.slice(0, json.length / 2))
    return breakOff(sending, script.fault === 'drop' ? 'dropped' : 'lost')
  }
  line.out = line.outMax
  ended('whole')
  response.end(json)
}

async function sendStream(sending: Sending, events: Events): Promise<void> {
  const { line, script, response, ended } = sending
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events.before) response.write(event)
  for (; line.out < line.outMax; line.out++) {
    if (script.fault === 'drop' && line.out >= script.after) return breakOff(sending, 'dropped')
    response.write(events.token(line.out))
    await (script.gap > 0 ? sleep(script.gap) : null)
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

function refuse(response: ServerResponse, httpStatus: number, message: string): void {
  sendJson(response, httpStatus, errorOf(httpStatus, message))
}

function sendJson(response: ServerResponse, httpStatus: number, body: unknown): void {
  response.writeHead(httpStatus, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
