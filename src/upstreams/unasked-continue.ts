import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

type Connector = ReturnType<typeof buildConnector>

/**
 * Connects sockets on which a `100 Continue` that was not asked for is read as `102 Processing`. RFC 9110 tells clients
 * to ignore it. undici ignores every other interim answer, but at this one it drops the connection with the answer.
 */
export function ignoringContinue(connect: Connector): Connector {
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
