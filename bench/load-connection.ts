import { connect, type Socket } from 'node:net'

/** One answer, whole. Times are of `performance.now()`. */
export interface Answer {
  readonly httpStatus: number
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly sentAtMs: number
  /** When the first event of a stream came, comments aside; null: there is none. */
  readonly firstEventAtMs: number | null
  readonly endedAtMs: number
}

/** The bytes that a connection sends: the head with its empty line, and the body behind it. */
interface Outgoing {
  readonly head: Buffer
  readonly body: Buffer
  /** Called with each piece of the response's body as it arrives. */
  readonly onPiece?: (piece: Buffer) => void
}

interface Exchange extends Outgoing {
  readonly sentAtMs: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
  readonly pieces: Buffer[]
  httpStatus: number
  headers: ReadonlyMap<string, string>
  firstEventAtMs: number | null
}

const HEAD_END = '\r\n\r\n'
const NEWLINE = 0x0a
const EVENT_MARK = 'data: '

/**
 * A keep-alive connection with one running request at a time. Reads just as much of HTTP/1.1 as
 * a gateway answers with, so that the load generator costs less than its target.
 *
 * States: `idle` → `head` → `sized` or `chunkSize` → `chunk` → `chunkEnd` → `chunkSize` … → `trailer`
 * → `idle`; a fault or a close rejects the running exchange.
 */
export class LoadConnection {
  readonly #socket: Socket
  #state: 'idle' | 'head' | 'sized' | 'chunkSize' | 'chunk' | 'chunkEnd' | 'trailer' = 'idle'
  #exchange: Exchange | null = null
  /** The received part of a head or of a chunk's size that is not complete yet. */
  #partial: Buffer = Buffer.alloc(0)
  /** Bytes that are missing from the piece that the state names. */
  #missing = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => this.#read(bytes))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the connection was closed before the end')))
  }

  /** Connects to an `http://` address. */
  static open(address: string): Promise<LoadConnection> {
    const { hostname, port } = new URL(address)
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new LoadConnection(socket))
      })
    })
  }

  /** Sends a request and resolves with its answer. Rejects where the connection ends before it does. */
  send(outgoing: Outgoing): Promise<Answer> {
    if (this.#exchange !== null) throw new Error('a request is under way on this connection')
    return new Promise((resolve, reject) => {
      this.#exchange = {
        ...outgoing,
        resolve,
        reject,
        sentAtMs: performance.now(),
        pieces: [],
        httpStatus: 0,
        headers: new Map(),
        firstEventAtMs: null,
      }
      this.#state = 'head'
      this.#socket.cork()
      this.#socket.write(outgoing.head)
      this.#socket.write(outgoing.body)
      this.#socket.uncork()
    })
  }

  /** Ends it, even during a request. */
  close(): void {
    this.#socket.destroy()
  }

  #read(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      switch (this.#state) {
        case 'idle':
          this.#fail(new Error('bytes came that no request asked for'))
          return
        case 'head':
          at = this.#readHead(bytes, at)
          break
        case 'chunkSize':
          at = this.#readChunkSize(bytes, at)
          break
        case 'sized':
        case 'chunk':
          at = this.#readPiece(bytes, at)
          break
        case 'chunkEnd':
        case 'trailer':
          at = this.#skip(bytes, at)
          break
      }
    }
  }

  #readHead(bytes: Buffer, from: number): number {
    const before = this.#partial.length
    const whole = before === 0 ? bytes.subarray(from) : Buffer.concat([this.#partial, bytes])
    const end = whole.indexOf(HEAD_END)
    if (end === -1) {
      this.#partial = whole
      return bytes.length
    }
    this.#partial = Buffer.alloc(0)
    const [statusLine = '', ...lines] = whole.toString('latin1', 0, end).split('\r\n')
    const headers = new Map(lines.map(fieldOf))
    const exchange = this.#current()
    exchange.httpStatus = Number(statusLine.split(' ')[1])
    exchange.headers = headers
    this.#missing = Number(headers.get('content-length') ?? 0)
    if (headers.get('transfer-encoding') === 'chunked') this.#state = 'chunkSize'
    else if (this.#missing > 0) this.#state = 'sized'
    else this.#finish()
    return from + end + HEAD_END.length - before
  }

  #readChunkSize(bytes: Buffer, from: number): number {
    const newline = bytes.indexOf(NEWLINE, from)
    const end = newline === -1 ? bytes.length : newline
    const text = this.#partial.toString('latin1') + bytes.toString('latin1', from, end)
    if (newline === -1) {
      this.#partial = Buffer.from(text, 'latin1')
      return bytes.length
    }
    this.#partial = Buffer.alloc(0)
    this.#missing = Number.parseInt(text, 16)
    if (Number.isNaN(this.#missing)) this.#fail(new Error(`not the size of a chunk: ${text}`))
    else if (this.#missing > 0) this.#state = 'chunk'
    else {
      this.#state = 'trailer'
      this.#missing = 2
    }
    return newline + 1
  }

  #readPiece(bytes: Buffer, from: number): number {
    const exchange = this.#current()
    const piece = bytes.subarray(from, from + this.#missing)
    if (exchange.firstEventAtMs === null && piece.includes(EVENT_MARK)) {
      exchange.firstEventAtMs = performance.now()
    }
    exchange.pieces.push(piece)
    exchange.onPiece?.(piece)
    this.#missing -= piece.length
    if (this.#missing === 0) {
      if (this.#state === 'sized') this.#finish()
      else {
        this.#state = 'chunkEnd'
        this.#missing = 2
      }
    }
    return from + piece.length
  }

  #skip(bytes: Buffer, from: number): number {
    const skipped = Math.min(this.#missing, bytes.length - from)
    this.#missing -= skipped
    if (this.#missing === 0) {
      if (this.#state === 'trailer') this.#finish()
      else this.#state = 'chunkSize'
    }
    return from + skipped
  }

  #current(): Exchange {
    if (this.#exchange === null) throw new Error('no request is under way')
    return this.#exchange
  }

  #finish(): void {
    const { httpStatus, headers, pieces, sentAtMs, firstEventAtMs, resolve } = this.#current()
    this.#exchange = null
    this.#state = 'idle'
    const [only] = pieces
    const body = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
    resolve({ httpStatus, headers, body, sentAtMs, firstEventAtMs, endedAtMs: performance.now() })
  }

  #fail(error: Error): void {
    const exchange = this.#exchange
    this.#exchange = null
    this.#state = 'idle'
    this.#socket.destroy()
    exchange?.reject(error)
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}
