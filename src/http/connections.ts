import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { eitherEnvelope, errorEnvelope } from '../formats/envelope.ts'
import type { EnvelopeFamily } from '../formats/format.ts'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { http } from './node-http.ts'

// A smaller piece waits for the next ones, or for the end of the body.
const PIECE_BYTES_MIN = 16 * 1024

// Node's parser takes a microsecond or two for a piece of any size. No ordinary client sends this many pieces
// this small.
const TINY_PIECE_BYTES_MAX = 64
const TINY_PIECES_A_TURN = 1_024
const TINY_PIECES = 'bodies in tiny pieces'

/**
 * A client's request as Node's parser makes it, with three differences. The tiny pieces of a body are joined
 * before they are kept: Node would keep an object of some 200 bytes for each, also while the request waits
 * for its turn. A body that breaks off ends the reading of the request but not its connection, which the
 * response still needs. Bodies in tiny pieces are read in turns, also when they are only dropped: each read
 * of 64 KB of such pieces takes the thread for ten milliseconds.
 */
export class ClientRequest extends http.IncomingMessage {
  #piece: Buffer | null = null
  #pieces: GrowingBytes | null = null
  #threadShare: ThreadShare | null = null
  #tinyPieces = 0
  #waitsForTurn = false
  #isAskedForMore = false

  /** From here on the body is read in turns if it comes in tiny pieces. */
  shareThread(threadShare: ThreadShare): void {
    this.#threadShare = threadShare
  }

  /** Whether it lacks the host that every HTTP/1.1 request must name. */
  get lacksHost(): boolean {
    return this.httpVersion === '1.1' && this.headers.host === undefined
  }

  /**
   * Why a head that Node's parser accepts is refused; null: it is not. Another server could read such a head in
   * another way, and then see other requests on the connection than this one (RFC 9112, 2.3, 3.2 and 6.1).
   */
  get headFault(): string | null {
    if (this.httpVersionMajor !== 1) return 'The supported versions of HTTP are 1.0 and 1.1.'
    if (this.lacksHost) return 'The request has no `host` header.'
    const hosts = countHosts(this.rawHeaders)
    if (hosts > 1) return 'The request has more than one `host` header.'
    if (hosts === 1 && !HOST.test(this.headers.host ?? ''))
      return 'The `host` header is not a valid host.'
    const coding = this.headers['transfer-encoding']
    if (coding === undefined) return null
    if (this.httpVersion === '1.0') return 'HTTP/1.0 has no `transfer-encoding`.'
    return /^chunked$/i.test(coding) ? null : 'The supported transfer-encoding is chunked, once.'
  }

  /**
   * Replaces a target that is a whole URL, which every server must accept, by the URL's path. The URL's host then
   * replaces the header's (RFC 9112, 3.2.2).
   */
  takePathOfUrl(): void {
    if (this.url?.startsWith('/') !== false) return
    const [, host, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(this.url) ?? []
    if (host === undefined) return
    if (!this.lacksHost) this.headers.host = host
    this.url = rest.startsWith('/') ? rest : `/${rest}`
  }

  /** Whether a body of this length has arrived whole. Node reports that only a moment later. */
  hasWhole(declaredBytes: number): boolean {
    return this.complete || this.#piece?.length === declaredBytes
  }

  override push(piece: Buffer | null): boolean {
    if (piece !== null && piece.length <= TINY_PIECE_BYTES_MAX) this.#countTinyPiece()
    if (piece !== null && piece.length < PIECE_BYTES_MIN) return this.#hold(piece)
    const held = this.#takeHeld()
    if (held !== null) super.push(held)
    return super.push(piece)
  }

  override _read(bytes: number): void {
    if (this.#waitsForTurn) this.#isAskedForMore = true
    else super._read(bytes)
  }

  /** Stops reading a body that can no longer become complete. */
  breakOff(problem: Problem): void {
    this.destroy(problem)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(error instanceof Problem)) super._destroy(error, done)
    else done(this.listenerCount('error') === 0 ? null : error)
  }

  #countTinyPiece(): void {
    this.#tinyPieces++
    if (this.#tinyPieces < TINY_PIECES_A_TURN || this.#waitsForTurn) return
    if (this.#threadShare === null) return
    this.#tinyPieces = 0
    this.#waitsForTurn = true
    this.socket.pause()
    void this.#threadShare.turn(TINY_PIECES).then((turn) => {
      this.#waitsForTurn = false
      // A full buffer is not filled further: the reader asks for more when it needs it.
      const isFull = this.readableLength >= this.readableHighWaterMark
      if (this.#isAskedForMore || !isFull) this.socket.resume()
      this.#isAskedForMore = false
      // The event loop reads the socket between the two calls at the latest.
      setImmediate(() => setImmediate(() => turn.end()))
    })
  }

  #hold(piece: Buffer): boolean {
    if (this.#pieces === null && this.#piece === null) {
      this.#piece = piece
      return true
    }
    this.#pieces ??= new GrowingBytes()
    if (this.#piece !== null) this.#pieces.add(this.#piece)
    this.#piece = null
    this.#pieces.add(piece)
    return this.#pieces.length < PIECE_BYTES_MIN || super.push(this.#pieces.take())
  }

  #takeHeld(): Buffer | null {
    const held = this.#piece
    this.#piece = null
    if (held !== null) return held
    return this.#pieces === null || this.#pieces.length === 0 ? null : this.#pieces.take()
  }
}

// A name, an IPv4 address or an IPv6 address in brackets, and a port. Empty: the client's URL has no host.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w:.%~-]+\])(?::\d*)?$/i

/** How many of these names, with a value after each, are `host`. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}

/** Why the reading of a request ended before its body was whole; null: the client left. */
export function breakOfBody({ errored }: IncomingMessage): Problem | null {
  return errored instanceof Problem ? errored : null
}

/** Whether the client waits for `100 Continue` before it sends its body. */
function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion === '1.1' && /100-continue/i.test(headers.expect)
  )
}

/** Asks a client that waits for `100 Continue` for its body, which is about to be read. */
export function askForBody(clientRequest: IncomingMessage, client: ServerResponse): void {
  if (!expectsContinue(clientRequest)) return
  client.removeHeader('connection')
  client.writeContinue()
}

/**
 * Takes a request whose client waits for `100 Continue`: unless {@link askForBody} is called, its answer ends the
 * connection. Some clients and proxies send no body after such an answer but the next request, which would be read as
 * the body.
 */
export function endUnlessAsked(client: ServerResponse): void {
  client.setHeader('connection', 'close')
}

/** The requests of one connection whose answers are not complete yet. */
interface Unanswered {
  count: number
  /** The latest request. */
  readonly clientRequest: ClientRequest
  readonly client: ServerResponse
}

// A client that sends this many ahead can only mean to fill memory.
const UNANSWERED_MAX = 16

// How long bytes after a refused head are read and dropped, so that the sender sees the response: a socket
// that is closed with unread bytes is reset, and the reset discards the response.
const DRAIN_TIMEOUT_MS = 2_000

// How long the rest of a body that is not read may take once its request is answered. Without this, a client
// without a key could keep a connection for ever by sending a byte now and then.
const REST_TIMEOUT_MS = 10_000

interface ConnectionsInput {
  readonly threadShare: ThreadShare
  readonly ids: IdSource
  /** The error envelope of a URL. */
  readonly familyOf: (url: string) => EnvelopeFamily
}

/**
 * The queue of requests on each connection. A request that a client sends ahead of its turn waits for it:
 * before its turn a response has no socket, and would not notice that the client left.
 */
export class Connections {
  readonly #input: ConnectionsInput
  readonly #unanswered = new WeakMap<Socket, Unanswered>()
  /** Connections from which nothing more is read. */
  readonly #refused = new WeakSet<Socket>()

  constructor(input: ConnectionsInput) {
    this.#input = input
  }

  /** Calls back when it is this request's turn on its connection, usually at once. */
  take(clientRequest: ClientRequest, client: ServerResponse, serve: () => void): void {
    const { socket } = clientRequest
    // An answer that ends the connection is the last one on it: what comes behind it is not run, since no client would
    // get its answer.
    if (this.#refused.has(socket) || !socket.writable) return
    clientRequest.shareThread(this.#input.threadShare)
    const earlier = this.#unanswered.get(socket)
    if (earlier === undefined) {
      this.#add({ count: 1, clientRequest, client })
      serve()
      return
    }
    if (earlier.count === UNANSWERED_MAX) {
      this.#takeNoMore(socket, earlier.client)
      return
    }
    earlier.client.once('close', () => {
      if (socket.writable) serve()
    })
    this.#add({ count: earlier.count + 1, clientRequest, client })
  }

  /**
   * Handles bytes that Node's parser refuses. In the middle of a body, the reading of that body ends with an
   * error, and the code that serves the request answers it. Elsewhere this answers, after the requests before
   * these bytes. The rest of the refused bytes raise this again and are dropped.
   */
  refuse(error: RefusedBytes, socket: Socket): void {
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const latest = this.#unanswered.get(socket)
    if (latest === undefined) this.#answerRefused(error, socket)
    else if (!latest.clientRequest.complete) {
      latest.client.once('close', () => socket.destroySoon())
      latest.clientRequest.breakOff(problemOf(error))
    } else if (error.code === 'HPE_INVALID_EOF_STATE') {
      // The client left in the middle of its next head.
      socket.destroySoon()
    } else {
      dropBytes(socket)
      latest.client.once('close', () => this.#answerRefused(error, socket))
    }
  }

  #answerRefused(error: RefusedBytes, socket: Socket): void {
    if (!socket.writable) return
    socket.write(this.#refusalOf(error))
    const timer = setTimeout(() => socket.destroy(), DRAIN_TIMEOUT_MS)
    socket.once('end', () => socket.destroy())
    socket.once('close', () => clearTimeout(timer))
  }

  /** The whole response to a head that can't be read. */
  #refusalOf(error: RefusedBytes): string {
    const { ids, familyOf } = this.#input
    const problem = problemOf(error)
    const requestId = ids.next('req')
    const url = urlIn(error.rawPacket)
    const family = url === null ? null : familyOf(url)
    const body =
      family === null
        ? eitherEnvelope(problem, requestId)
        : errorEnvelope(family, { problem, requestId })
    const shouldRetry = problem.isFinal ? 'x-should-retry: false\r\n' : ''
    const ownId = family === 'openai' ? '' : `request-id: ${requestId}\r\n`
    return (
      `HTTP/1.1 ${problem.httpStatus} Refused\r\nx-request-id: ${requestId}\r\n${ownId}` +
      `content-type: application/json\r\n${shouldRetry}` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
    )
  }

  /** Serves the requests that wait, the last with `connection: close`, and drops the bytes behind them. */
  #takeNoMore(socket: Socket, last: ServerResponse): void {
    this.#refused.add(socket)
    last.setHeader('connection', 'close')
    dropBytes(socket)
  }

  #add(unanswered: Unanswered): void {
    const { client, clientRequest } = unanswered
    const { socket } = clientRequest
    this.#unanswered.set(socket, unanswered)
    client.once('close', () => {
      const latest = this.#unanswered.get(socket)
      // An idle connection keeps no request in memory.
      if (latest === undefined || latest.count === 1) this.#unanswered.delete(socket)
      else latest.count--
      if (!clientRequest.complete) boundRest(clientRequest)
    })
  }
}

/** From here on Node's parser gets nothing: it would keep each head as a request. */
function dropBytes(socket: Socket): void {
  socket.removeAllListeners('data')
  socket.on('data', () => {})
  socket.once('end', () => socket.end())
}

/** Ends the connection of an answered request whose body does not end in time. */
function boundRest(clientRequest: ClientRequest): void {
  const timer = setTimeout(() => {
    if (!clientRequest.complete) clientRequest.socket.destroy()
  }, REST_TIMEOUT_MS)
  timer.unref()
  clientRequest.once('close', () => clearTimeout(timer))
}

/** An error of Node's parser. */
type RefusedBytes = NodeJS.ErrnoException & { readonly rawPacket?: unknown }

const REQUEST_LINE_BYTES_MAX = 2_048

/** The URL of a head that begins with these bytes; null if they are from its middle, or no HTTP. A long one is cut. */
function urlIn(bytes: unknown): string | null {
  if (!Buffer.isBuffer(bytes)) return null
  const line = bytes.toString('latin1', 0, REQUEST_LINE_BYTES_MAX)
  return /^[A-Z]+ (?:https?:\/\/[^/?# ]+)?(\/\S*)/i.exec(line)?.[1] ?? null
}

function problemOf(error: RefusedBytes): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers_too_large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout')
    case 'HPE_INVALID_EOF_STATE':
      return new Problem('bad_request', { message: 'The connection ended before the request did.' })
    default:
      return new Problem('bad_request')
  }
}
