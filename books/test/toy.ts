import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'

/**
 * A gateway that keeps its books, in one file, with one planted fault for each check: the name of the check as the third
 * argument. Run by toy.yaml.
 */
const [port = '0', file = '', fault = '', upstream = '', store = ''] = process.argv.slice(2)
const is = (...names: readonly string[]): boolean => names.includes(fault)
const db = new DatabaseSync(file)
// A killed process loses nothing of what it wrote, so nothing is waited for here.
db.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 5000;
  create table if not exists accounts (id text primary key, balance int, charged int);
  create table if not exists keys (hash text primary key, account text);
  create table if not exists holds (id text primary key, account text, key text, micros int, owner int);
  create table if not exists rows (id text, account text, micros int)`)
/** Runs a statement; the first cell of its first row. */
const sql = (statement: string, ...cells: readonly (string | number)[]): unknown =>
  Object.values(db.prepare(statement).get(...cells) ?? {})[0]
for (const { owner } of db.prepare('select distinct owner from holds').all())
  if (!is('phantom') && !existsSync(`/proc/${owner}`))
    sql('delete from holds where owner = ?', Number(owner))

const OUTPUT_MICROS = 50
const CHARGE = 'update accounts set balance = balance - ?1, charged = charged + ?1 where id = ?2'
const FORGET = 'update accounts set balance = balance + charged, charged = 0'
const hash = (key: string): string =>
  is('secrets') ? key : createHash('sha256').update(key).digest('hex')
let factor = 1
let running = 0
/** Places that clients took with them who left. */
let lost = 0

function heldMicros(account: string, key: string): number {
  const [column, value] = is('race-account') ? ['key', key] : ['account', account]
  const own = is('race-instances') ? `and owner = ${process.pid}` : ''
  return Number(sql(`select sum(micros) from holds where ${column} = ? ${own}`, value) ?? 0)
}

type Ending = { by: 'whole' | 'left' | 'broken' | 'refused'; text: string; attempts: number }

/** The tokens that an answer counts; null if it counts none. */
function countedMicros(answer: string): number | null {
  const count = (names: string): number => {
    const found = answer.matchAll(RegExp(`"(?:${names})":(\\d+)`, 'g'))
    return Math.max(0, ...found.map(([, digits]) => Number(digits)))
  }
  const input = count('prompt_tokens|input_tokens')
  if (!/"(?:prompt|input)_tokens"/.test(answer) || (is('zero-usage') && input === 0)) return null
  const cached = count('cached_tokens|cache_read_input_tokens')
  const written = count('cache_creation_input_tokens')
  const output =
    count('completion_tokens|output_tokens') - (is('reasoning') ? count('reasoning_tokens') : 0)
  // Counts of chat have the cached tokens in those of the prompt.
  const plain = answer.includes('"prompt_tokens"') ? input - cached : input
  const caches = cached * (is('cached') ? 10 : 1) + written * (is('written') ? 10 : 12)
  return plain * 10 + caches + output * OUTPUT_MICROS
}

type Call = { json: string; isStream: boolean; holdMicros: number }

/** The charge of a call, at the price of a token. */
function chargeOf({ by, text: answer }: Ending, { json, isStream, holdMicros }: Call): number {
  const counted = by === 'whole' ? countedMicros(answer) : null
  const shown = answer.match(/"content":" |text_delta/g)?.length ?? 0
  // Fewer tokens than a prompt has: a broken answer is charged at most its bill.
  const estimated = Math.floor(json.length / 7) * 10 + shown * OUTPUT_MICROS
  if (by === 'left' && answer === '') return is('left-early') ? holdMicros : 0
  if (by === 'broken' && is('dropped')) return 2 * holdMicros
  const isFree = [
    by === 'refused',
    by === 'left' && is('left-midway'),
    by === 'left' && is('left-before-usage') && answer.includes('"stop"'),
    counted === null && is('no-usage'),
    isStream && is('late-usage'),
    isStream && is('stream-unasked') && !json.includes('stream_options'),
  ]
  if (isFree.includes(true)) return 0
  const micros = (counted ?? estimated) + (is(isStream ? 'stream' : 'plain') ? 1_000 : 0)
  return is('drift') ? Math.floor(micros / 100) * 100 : micros
}

async function complete(request: IncomingMessage, response: ServerResponse, json: string) {
  const refuse = (httpStatus: number, message: string): unknown =>
    response.writeHead(httpStatus).end(JSON.stringify({ error: { message } }))
  const key = hash((request.headers.authorization ?? '').slice(7))
  const account = sql('select account from keys where hash = ?', key)
  if (typeof account !== 'string') return refuse(401, 'no such key')
  if (!json.trimEnd().endsWith('}')) return refuse(400, 'not JSON')
  const body = JSON.parse(json)
  const isUnpriced = body.model !== 'books-1'
  if (isUnpriced && !is('unpriced')) return refuse(404, 'no such model')
  const isAway = !(await isThere(store))
  if (isAway && !is('store-away')) return refuse(503, 'no store')
  if (lost >= 8) return refuse(429, 'too many')
  if (is('prompts')) console.log(json)
  const start = process.cpuUsage()
  while (is('cost') && process.cpuUsage(start).user < 5_000) hash(json)
  const balanceMicros = Number(sql('select balance from accounts where id = ?', account))
  const freeMicros = balanceMicros - heldMicros(account, key)
  const isUnchecked = is('race-key', 'negative')
    ? balanceMicros > 0
    : is('last-cent') && freeMicros >= 0
  const promptMicros = is('race-prompts') ? 0 : json.length * 4 * factor
  const most = Math.floor((freeMicros - promptMicros) / (OUTPUT_MICROS * factor))
  const cap = body.max_tokens ?? (is('no-cap') ? 256 : Math.min(4_096, most))
  const holdMicros = promptMicros + cap * OUTPUT_MICROS * factor
  if (cap < 1 || (freeMicros < holdMicros && !isUnchecked)) return refuse(402, 'not enough money')
  const id = randomUUID()
  response.setHeader('x-request-id', id)
  if (!isUnchecked)
    sql('insert into holds values (?, ?, ?, ?, ?)', id, account, key, holdMicros, process.pid)
  const isUnasked = body.stream && !body.stream_options && request.url?.includes('chat')
  const capped = body.max_tokens || is('no-cap') ? '' : `"max_tokens":${cap},`
  const asked = isUnasked ? '"stream_options":{"include_usage":true},' : ''
  const exact = json.replace(/^\s*\{/, (brace) => brace + capped + asked)
  const wasFactor = factor
  const sent = is('bytes') ? JSON.stringify(JSON.parse(exact)) : exact
  const ending = await relay(request.url ?? '', response, sent)
  const { by, attempts, text: answer } = ending
  if (is('slots') && by === 'left') lost++
  const isStream = body.stream === true
  const micros =
    chargeOf(ending, { json, isStream, holdMicros }) *
    (isAway || isUnpriced ? 0 : is('retried') ? attempts : 1) *
    (is('repriced') ? factor : wasFactor)
  if (is('kill') && !db.isTransaction) db.exec('begin')
  sql(CHARGE, micros, account)
  if (!(is('rows') && isStream) && !(is('lost') && by === 'broken'))
    sql('insert into rows values (?, ?, ?)', id, account, micros)
  if (!is('usable') && !(is('phantom') && by !== 'whole')) sql('delete from holds where id = ?', id)
  if (by === 'left' || by === 'broken') return response.destroy()
  // The end waits for the charge.
  return response.end(by === 'refused' ? '{"error":{}}' : isStream ? 'data: [DONE]\n\n' : answer)
}

/** Sends a request on, again after a 500, and passes all of a stream but its end. */
async function relay(url: string, response: ServerResponse, body: string): Promise<Ending> {
  const ending: Ending = { by: 'broken', text: '', attempts: 0 }
  const leaving = new AbortController()
  response.on('close', () => {
    if (!response.writableEnded) ending.by = 'left'
    leaving.abort()
  })
  try {
    let answer: Response
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-books' }
    const call = { method: 'POST', headers, body, signal: leaving.signal }
    do {
      answer = await fetch(upstream + url, call)
      ending.attempts++
    } while (answer.status === 500 && ending.attempts < 3)
    const type = answer.headers.get('content-type') ?? ''
    response.writeHead(answer.status === 200 ? 200 : 502, { 'content-type': type })
    if (answer.status !== 200) return { ...ending, by: 'refused' }
    response.flushHeaders()
    let kept = ''
    let count = 0
    for await (const chunk of answer.body ?? []) {
      const piece = Buffer.from(chunk).toString()
      ending.text += piece
      const events = type.includes('event-stream') ? (kept + piece).split('\n\n') : []
      kept = events.pop() ?? ''
      for (const event of events)
        if (event !== 'data: [DONE]' && !(is('whole-streams') && ++count % 100 === 0))
          response.write(`${event}\n\n`)
    }
    return { ...ending, by: 'whole' }
  } catch {
    return ending
  }
}

function isThere(address: string): Promise<boolean> {
  const { hostname, port: at } = new URL(address)
  const socket = connect(Number(at), hostname)
  return once(socket, 'connect').then(
    () => !socket.destroy().connecting,
    () => false,
  )
}

/** The calls of admins: `/accounts`, `/keys`, `/add`, `/price`, `/clock`, `/sums`, and `/settled` for those at rest. */
async function administer(path: string, body: Record<string, string | number>): Promise<object> {
  const { account = randomUUID(), micros = 0 } = body
  const id = String(account)
  const key = `sk-toy-${randomUUID()}`
  const sumOf = (name: string): unknown => sql(`select ${name} from accounts where id = ?`, id)
  if (path === '/accounts' && db.isTransaction) db.exec('commit')
  if (path === '/accounts') sql('insert into accounts values (?, ?, 0)', id, micros)
  if (path === '/keys') sql('insert into keys values (?, ?)', hash(key), id)
  // A client may have gone before its request has noticed.
  while (path === '/settled' && running > 0) await once(server, 'settled')
  // A read, a wait and a write forget spending in between.
  const balance = is('top-up') ? Number(sumOf('balance')) : 'balance'
  if (path === '/add' && is('top-up')) await fetch(`${upstream}/v1/models`)
  if (path === '/add') sql(`update accounts set balance = ${balance} + ? where id = ?`, micros, id)
  if (path === '/price') factor = Number(body['factor'])
  if (path === '/clock' && is('clock')) sql(FORGET)
  const rows = db.prepare('select id, micros from rows where account = ?').all(id)
  const sums = { spent: sumOf('charged'), left: sumOf('balance'), held: heldMicros(id, '') }
  return { account: id, key, ...sums, rows }
}

const server = createServer(async (request, response) => {
  const json = await text(request)
  const path = request.url ?? ''
  if (!path.startsWith('/v1/'))
    return void response.end(JSON.stringify(await administer(path, JSON.parse(json || '{}'))))
  running++
  await complete(request, response, json)
  running--
  server.emit('settled')
}).listen(Number(port), '127.0.0.1')

process.on('SIGTERM', () => {
  if (is('restart')) sql(FORGET)
  process.exit()
})
