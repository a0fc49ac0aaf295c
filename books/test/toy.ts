import { createHash, randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

/**
 * A gateway that keeps its books, in one file, with one planted fault for each check: the name of the check as the third
 * argument. Run by toy.yaml.
 */
const [portText = '0', file = ':memory:', fault = '', upstream = '', store = ''] =
  process.argv.slice(2)
const is = (name: string): boolean => fault === name
const db = new DatabaseSync(file)
// A killed process loses nothing of what it wrote, so nothing is waited for here.
db.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 5000;
  create table if not exists accounts (id text primary key, balance int, charged int);
  create table if not exists keys (hash text primary key, account text);
  create table if not exists holds (id text primary key, account text, key text, micros int, owner int);
  create table if not exists rows (id text, account text, micros int)`)
type Cell = string | number
const one = (sql: string, ...cells: Cell[]): Record<string, unknown> =>
  db.prepare(sql).get(...cells) ?? {}
const run = (sql: string, ...cells: Cell[]): unknown => db.prepare(sql).run(...cells)
for (const { owner } of db.prepare('select distinct owner from holds').all())
  if (!isAlive(Number(owner))) run('delete from holds where owner = ?', Number(owner))

let factor = 1
let inFlight = 0
let running = 0
const endings = new EventEmitter()
/** Charges that `kill` keeps in memory until the end. */
const unwritten: [string, number][] = []
const hash = (text: string): string =>
  is('secrets') ? text : createHash('sha256').update(text).digest('hex')
const PER = {
  input: 10,
  cached: is('cached') ? 10 : 1,
  written: is('written') ? 10 : 12,
  output: 50,
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function write([account, micros]: [string, number]): void {
  run(
    'update accounts set balance = balance - ?, charged = charged + ? where id = ?',
    micros,
    micros,
    account,
  )
}

function held(account: string, key: string): number {
  const only = is('race-account')
    ? 'key = ?'
    : is('race-instances')
      ? `owner = ${process.pid} and account = ?`
      : 'account = ?'
  return Number(
    one(`select sum(micros) as sum from holds where ${only}`, is('race-account') ? key : account)[
      'sum'
    ] ?? 0,
  )
}

interface Counts {
  input: number
  cached: number
  written: number
  output: number
  reason: number
}

function countsIn(json: string): Counts | null {
  const count = (name: string): number =>
    Math.max(
      -1,
      ...[...json.matchAll(new RegExp(`"${name}":(\\d+)`, 'g'))].map(([, digits]) =>
        Number(digits),
      ),
    )
  const isMessages = json.includes('"input_tokens"')
  const input = isMessages ? count('input_tokens') : count('prompt_tokens')
  if (input < 0) return null
  const cached = Math.max(0, count('cached_tokens'), count('cache_read_input_tokens'))
  const written = Math.max(0, count('cache_creation_input_tokens'))
  const output = isMessages ? count('output_tokens') : count('completion_tokens')
  return {
    input: isMessages ? input : input - cached,
    cached,
    written,
    output,
    reason: Math.max(0, count('reasoning_tokens')),
  }
}

const price = ({ input, cached, written, output, reason }: Counts): number =>
  input * PER.input +
  cached * PER.cached +
  written * PER.written +
  (output - (is('reasoning') ? reason : 0)) * PER.output

/** The tokens of a prompt of the suite: its order, and words. */
function promptTokens(json: string): number {
  const text = (JSON.parse(json).messages as { content: string }[])
    .map(({ content }) => content)
    .join(' ')
  const order = /books:\{[^}]*\}/.exec(text)?.[0] ?? ''
  return Math.ceil(order.length / 3) + text.replace(order, '').split(' ').length - 1
}

async function complete(
  request: IncomingMessage,
  response: ServerResponse,
  json: string,
): Promise<void> {
  const refuse = (status: number, message: string): unknown =>
    response.writeHead(status).end(JSON.stringify({ error: { message } }))
  const key = (request.headers.authorization ?? '').slice(7)
  const { account } = one('select account from keys where hash = ?', hash(key))
  if (typeof account !== 'string') return void refuse(401, 'no such key')
  if (!/^\s*\{.*\}\s*$/s.test(json)) return void refuse(400, 'not JSON')
  const body = JSON.parse(json)
  if (body.model !== 'books-1' && !is('unpriced')) return void refuse(404, 'no such model')
  const isAway = store !== '' && !(await isThere(store))
  if (isAway && !is('store-away')) return void refuse(503, 'no store')
  if (is('slots') && inFlight >= 8) return void refuse(429, 'too many')
  if (is('prompts')) console.log(json)
  if (is('cost')) work(5_000)
  const { balance } = one('select balance from accounts where id = ?', account)
  const prompt = Math.ceil(json.length / 3) * (is('race-prompts') ? 0 : 12) * factor
  const there = Number(balance) - held(account, key)
  const cap: number =
    body.max_tokens ??
    (is('no-cap') ? 256 : Math.min(4_096, Math.floor((there - prompt) / (PER.output * factor))))
  const holdMicros = prompt + cap * PER.output * factor
  const isUnchecked = is('race-key') || is('negative') || (is('last-cent') && there >= 0)
  if (
    cap < 1 ||
    (there < holdMicros &&
      !(isUnchecked && Number(balance) > -1 && (is('last-cent') || Number(balance) > 0)))
  )
    return void refuse(402, 'not enough money')
  const id = randomUUID()
  if (!isUnchecked)
    run('insert into holds values (?, ?, ?, ?, ?)', id, account, hash(key), holdMicros, process.pid)
  inFlight++
  const more = [
    body.max_tokens === undefined && !is('no-cap') ? `"max_tokens":${cap},` : '',
    body.stream && body.stream_options === undefined && request.url?.includes('chat')
      ? '"stream_options":{"include_usage":true},'
      : '',
  ]
  const exact = json.replace(/^\s*\{/, (start) => `${start}${more.join('')}`)
  const wasFactor = factor
  const ended = await relay(
    request,
    response,
    is('bytes') ? JSON.stringify(JSON.parse(exact)) : exact,
  )
  if (!(is('slots') && ended.by === 'left')) inFlight--
  let micros = chargeOf({ ended, json, isStream: body.stream === true, holdMicros })
  if (isAway || body.model !== 'books-1') micros = 0
  micros *= (is('retried') ? ended.attempts : 1) * (is('repriced') ? factor : wasFactor)
  if (is('kill')) unwritten.push([account, micros])
  else write([account, micros])
  if (!(is('rows') && body.stream) && !(is('lost') && ended.by === 'broken'))
    run('insert into rows values (?, ?, ?)', id, account, micros)
  if (!is('usable') && !(is('phantom') && ended.by !== 'whole'))
    run('delete from holds where id = ?', id)
  ended.finish()
}

function work(cpuMicros: number): void {
  const used = (): number => process.cpuUsage().user + process.cpuUsage().system
  const start = used()
  let sum = 0
  while (used() - start < cpuMicros) for (let turn = 0; turn < 100_000; turn++) sum += turn
  if (sum < 0) console.log(sum)
}

interface Charging {
  readonly ended: Ended
  readonly json: string
  readonly isStream: boolean
  readonly holdMicros: number
}

/** What a request is charged at the price of a token. */
function chargeOf({ ended, json, isStream, holdMicros }: Charging): number {
  const estimated = price({
    input: promptTokens(json),
    cached: 0,
    written: 0,
    output: ended.shown,
    reason: 0,
  })
  let micros =
    ended.counts === null || (is('zero-usage') && ended.counts.input === 0)
      ? ended.by === 'whole' && is('no-usage')
        ? 0
        : estimated
      : price(ended.counts)
  if (ended.by === 'refused' || (ended.by === 'left' && !ended.hasBegun))
    micros = is('left-early') && ended.by === 'left' ? holdMicros : 0
  if (
    ended.by === 'left' &&
    ended.hasBegun &&
    (is('left-midway') || (is('left-before-usage') && ended.hasFinished))
  )
    micros = 0
  if (ended.by === 'broken') micros = is('dropped') ? 2 * holdMicros : micros
  if ((is('stream') && isStream) || (is('plain') && !isStream)) micros += 1_000
  if (is('stream-unasked') && isStream && !json.includes('stream_options')) micros = 0
  if (is('drift')) micros = Math.floor(micros / 100) * 100
  return micros
}

interface Ended {
  by: 'whole' | 'left' | 'broken' | 'refused'
  attempts: number
  hasBegun: boolean
  hasFinished: boolean
  shown: number
  counts: Counts | null
  finish(): void
}

/** Sends a request on, again after a 500, and passes its answer; the last of it waits for `finish`. */
async function relay(
  request: IncomingMessage,
  response: ServerResponse,
  json: string,
): Promise<Ended> {
  const ended: Ended = {
    by: 'whole',
    attempts: 0,
    hasBegun: false,
    hasFinished: false,
    shown: 0,
    counts: null,
    finish: () => response.end(),
  }
  const leaving = new AbortController()
  let hasLeft = false
  response.on('close', () => {
    hasLeft = !response.writableEnded
    leaving.abort()
  })
  let text = ''
  try {
    let answer: Response
    do {
      const headers = { 'content-type': 'application/json', authorization: `Bearer sk-books` }
      answer = await fetch(`${upstream}${request.url}`, {
        method: 'POST',
        headers,
        body: json,
        signal: leaving.signal,
      })
      ended.attempts++
    } while (answer.status === 500 && ended.attempts < 3)
    if (answer.status !== 200) {
      response.writeHead(502)
      return {
        ...ended,
        by: 'refused',
        finish: () => response.end('{"error":{"message":"the provider refused"}}'),
      }
    }
    ended.hasBegun = true
    response.writeHead(200, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.flushHeaders()
    const isStream = json.includes('"stream":true')
    let kept = ''
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString()
      const events = (kept + Buffer.from(chunk).toString()).split('\n\n')
      kept = events.pop() ?? ''
      for (const event of isStream ? events : []) {
        if (
          /"content":" |text_delta/.test(event) &&
          ++ended.shown % 100 === 0 &&
          is('whole-streams')
        )
          continue
        if (!event.includes('[DONE]')) response.write(`${event}\n\n`)
        ended.hasFinished ||= event.includes('"finish_reason":"stop"')
      }
      if (ended.hasFinished && is('late-usage'))
        return {
          ...ended,
          counts: { input: 0, cached: 0, written: 0, output: 1, reason: 0 },
          finish: () => response.end(),
        }
    }
    if (!isStream) ended.shown = /"content":"([^"]*)"/.exec(text)?.[1]?.split(' ').length ?? 0
    ended.counts = countsIn(text)
    return { ...ended, finish: () => response.end(isStream ? 'data: [DONE]\n\n' : text) }
  } catch {
    return { ...ended, by: hasLeft ? 'left' : 'broken', finish: () => response.destroy() }
  }
}

async function isThere(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  return once(socket, 'connect').then(
    () => !socket.destroy().connecting,
    () => false,
  )
}

/** What admins ask: `/accounts`, `/keys`, `/add`, `/price`, `/clock`, `/sums`, and `/settled` for those at rest. */
async function administer(path: string, body: Record<string, string | number>): Promise<unknown> {
  const account = String(body['account'] ?? randomUUID())
  const micros = Number(body['micros'])
  const { balance } = one('select balance from accounts where id = ?', account)
  if (path === '/accounts') run('insert into accounts values (?, ?, 0)', account, micros)
  // A client may have gone before its request has noticed.
  while (path === '/settled' && running > 0) await once(endings, 'end')
  const key = `sk-toy-${randomUUID()}`
  if (path === '/keys') run('insert into keys values (?, ?)', hash(key), account)
  if (path === '/add' && is('top-up')) {
    await fetch(`${upstream}/v1/models`)
    run('update accounts set balance = ? where id = ?', Number(balance) + micros, account)
  } else if (path === '/add')
    run('update accounts set balance = balance + ? where id = ?', micros, account)
  if (path === '/price') factor = Number(body['factor'])
  if (path === '/clock' && is('clock'))
    run('update accounts set balance = balance + charged, charged = 0')
  const { charged } = one('select charged from accounts where id = ?', account)
  const late = unwritten.filter(([of]) => of === account).reduce((sum, [, part]) => sum + part, 0)
  const rows = db.prepare('select id, micros from rows where account = ?').all(account)
  return {
    account,
    key,
    spent: Number(charged) + late,
    left: Number(balance),
    held: held(account, ''),
    rows,
  }
}

createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const json = Buffer.concat(chunks).toString()
  const path = request.url ?? ''
  if (path.startsWith('/v1/')) {
    running++
    await complete(request, response, json)
    running--
    return void endings.emit('end')
  }
  response.end(JSON.stringify(await administer(path, json === '' ? {} : JSON.parse(json))))
}).listen(Number(portText), '127.0.0.1')

process.on('SIGTERM', () => {
  for (const charge of unwritten) write(charge)
  if (is('restart')) run('update accounts set balance = balance + charged, charged = 0')
  process.exit()
})
