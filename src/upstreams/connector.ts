import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import buildConnector from 'undici/lib/core/connect.js'
import { MINUTE_MS } from '../vocabulary/clock.ts'

type Connector = ReturnType<typeof buildConnector>

/**
 * Connects sockets to upstreams. All share one DNS lookup. A `100 Continue` that was not asked for is read as `102
 * Processing`: RFC 9110 tells clients to ignore it. undici ignores every other interim answer, but at this one it drops the
 * connection with the answer.
 */
export function connectorWithin(timeoutMs: number): Connector {
  const connect = buildConnector({ allowH2: false, timeout: timeoutMs, lookup })
  return (options, callback) =>
    connect(options, (...[error, socket]: Parameters<typeof callback>) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      rewriteHeads(socket)
      callback(null, socket)
    })
}

function rewriteHeads(socket: Socket): void {
  const heads = new InterimHeads()
  const { write } = socket
  const read = socket.read.bind(socket)
  // A request is written before its answer is read, and nothing else is written until then.
  Reflect.set(socket, 'write', (...args: unknown[]) => {
    heads.expect()
    return Reflect.apply(write, socket, args)
  })
  const readHeads = (sizeBytes?: number): unknown => {
    const chunk: unknown = read(sizeBytes)
    if (chunk instanceof Uint8Array) heads.rewrite(chunk)
    return chunk
  }
  socket.read = readHeads
}

const STATUS_LINE = Buffer.from('HTTP/1.1 100')
const MINOR_VERSION = 7
const LAST_DIGITS = 10
const TWO = 50
const LF = 10
const CR = 13

/** Finds the interim heads before one answer, for any division into chunks. */
export class InterimHeads {
  /** The matched bytes of a status line of 100; null: inside the rest of a head. */
  #matched: number | null = 0
  #isContinue = true
  #isOver = false
  /** Whether the line so far is empty. */
  #isLineStart = false

  /** The next bytes may be those of an answer. */
  expect(): void {
    if (!this.#isOver) return
    this.#isOver = false
    this.#startHead()
  }

  /** Changes each 100 in this chunk to 102, in place. */
  rewrite(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length && !this.#isOver; at++) {
      const byte = chunk[at] ?? 0
      if (this.#matched === null) this.#passHead(byte)
      else if (this.#matchStatus(byte)) chunk[at] = TWO
    }
  }

  #startHead(): void {
    this.#matched = 0
    this.#isContinue = true
  }

  /** Whether this byte of a status line is the last digit of a 100. */
  #matchStatus(byte: number): boolean {
    const at = this.#matched ?? 0
    const isSame = byte === STATUS_LINE[at]
    if (!isSame && at >= LAST_DIGITS) this.#isContinue = false
    else if (!isSame && at !== MINOR_VERSION) {
      // Not an interim answer: this is the answer itself.
      this.#isOver = true
      return false
    }
    if (at + 1 < STATUS_LINE.length) {
      this.#matched = at + 1
      return false
    }
    this.#matched = null
    this.#isLineStart = false
    return this.#isContinue
  }

  #passHead(byte: number): void {
    if (byte === CR) return
    if (byte !== LF) this.#isLineStart = false
    else if (this.#isLineStart) this.#startHead()
    else this.#isLineStart = true
  }
}

type Answer = Parameters<LookupFunction>[2]

/** Asks the system for the addresses of a name, as `dns.lookup` does. */
type AskSystem = (hostname: string, asked: LookupOptions, answer: Answer) => void

/** One name, with the options that it is asked for with. */
interface Name {
  /** The connections that wait for the answer; null: nothing is asked at the moment. */
  waiting: Answer[] | null
  addresses: string | LookupAddress[]
  family: number | undefined
  /** The steady time from which on the addresses are too old. */
  knownUntilMs: number
}

/**
 * One DNS lookup that all connections share. The system resolves only two names at a time, and blocks for seconds if the
 * DNS servers do not answer, so each name has at most one lookup in progress. If that fails, or takes longer than
 * `slowMs`, the last known addresses are used, for up to `knownForMs`.
 */
export function sharedLookup({
  ask = systemLookup,
  slowMs = 1_000,
  knownForMs = 10 * MINUTE_MS,
}: {
  /** Default: `dns.lookup`. */
  readonly ask?: AskSystem
  /** How long a name whose addresses are known is waited for. */
  readonly slowMs?: number
  /** How long addresses can stand in for an answer that does not come. */
  readonly knownForMs?: number
} = {}): LookupFunction {
  const names = new Map<string, Name>()
  return (hostname, asked, answer) => {
    const question = [hostname, asked.family, asked.hints, asked.all, asked.order].join(' ')
    const name = names.get(question) ?? { waiting: null, addresses: [], family: 0, knownUntilMs: 0 }
    names.set(question, name)
    let isAnswered = false
    const answerOnce: Answer = (...answered) => {
      clearTimeout(timer)
      if (!isAnswered) answer(...answered)
      isAnswered = true
    }
    const answerKnown = (): void => answerOnce(null, name.addresses, name.family)
    const timer = isKnown(name) ? setTimeout(answerKnown, slowMs) : undefined
    if (name.waiting !== null) {
      name.waiting.push(answerOnce)
      return
    }
    const waiting = [answerOnce]
    name.waiting = waiting
    ask(hostname, asked, (error, addresses, family) => {
      name.waiting = null
      if (error === null) {
        Object.assign(name, { addresses, family, knownUntilMs: performance.now() + knownForMs })
      }
      // A name that no longer exists has no addresses.
      if (error?.code === 'ENOTFOUND') name.knownUntilMs = 0
      const standsIn = error !== null && isKnown(name)
      for (const each of waiting) {
        if (standsIn) each(null, name.addresses, name.family)
        else each(error, addresses, family)
      }
    })
  }
}

function isKnown({ knownUntilMs }: Name): boolean {
  return performance.now() < knownUntilMs
}

// Of all upstreams: the system's threads are those of the process.
const lookup = sharedLookup()
