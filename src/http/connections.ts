import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorEnvelope } from '../formats/envelope.ts'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { ClientRequest } from './client-request.ts'

/** The requests of one connection that are still to be answered whole. */
interface Unanswered {
  count: number
  /** Of the one that came last. */
  readonly clientRequest: ClientRequest
  readonly client: ServerResponse
}

// A client that sends this many ahead can only mean to fill memory.
const UNANSWERED_MAX = 16

// How long bytes after a refused head are read and dropped, so that the sender sees the response: a socket
// that is closed with unread bytes is reset, and the reset discards the response.
const DRAIN_TIMEOUT_MS = 2_000

/**
 * The queue of requests on each connection. A request that a client sends ahead of its turn waits for it:
 * before its turn a response has no socket, and would not notice that the client left.
 */
export class Connections {
  readonly #threadShare: ThreadShare
  readonly #unanswered = new WeakMap<Socket, Unanswered>()
  /** Connections from which nothing more is read. */
  readonly #refused = new WeakSet<Socket>()

  constructor(threadShare: ThreadShare) {
    this.#threadShare = threadShare
  }

  /** Calls back when it is this request's turn on its connection, usually at once. */
  take(clientRequest: ClientRequest, client: ServerResponse, serve: () => void): void {
    const { socket } = clientRequest
    if (this.#refused.has(socket)) return
    clientRequest.shareThread(this.#threadShare)
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
      if (!socket.destroyed) serve()
    })
    this.#add({ count: earlier.count + 1, clientRequest, client })
  }

  /**
   * Handles bytes that Node's parser refuses. In the middle of a body, the reading of that body ends with an
   * error, and the code that serves the request answers it. Elsewhere this answers, unless that would write
   * into another response. The rest of the refused bytes raise this again and are dropped.
   */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const latest = this.#unanswered.get(socket)
    if (latest === undefined) {
      socket.write(refusalOf(error))
      const timer = setTimeout(() => socket.destroy(), DRAIN_TIMEOUT_MS)
      socket.once('end', () => socket.destroy())
      socket.once('close', () => clearTimeout(timer))
    } else if (latest.clientRequest.complete) {
      socket.destroySoon()
    } else {
      latest.client.once('close', () => socket.destroySoon())
      latest.clientRequest.breakOff(problemOf(error))
    }
  }

  /** Serves the requests that wait, the last with `connection: close`, and drops the bytes behind them. */
  #takeNoMore(socket: Socket, last: ServerResponse): void {
    this.#refused.add(socket)
    last.setHeader('connection', 'close')
    // From here on Node's parser gets nothing: it would keep each head as a request.
    socket.removeAllListeners('data')
    socket.on('data', () => {})
    socket.once('end', () => socket.end())
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
    })
  }
}

function refusalOf(error: NodeJS.ErrnoException): string {
  const problem = problemOf(error)
  const body = errorEnvelope('openai', { problem, requestId: null })
  const shouldRetry = problem.isFinal ? 'x-should-retry: false\r\n' : ''
  return (
    `HTTP/1.1 ${problem.httpStatus} Refused\r\ncontent-type: application/json\r\n${shouldRetry}` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  )
}

function problemOf(error: NodeJS.ErrnoException): Problem {
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
