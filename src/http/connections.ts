import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../vocabulary/problem.ts'
import { errorEnvelope } from '../wire/envelope.ts'

/** The requests of one connection that are still to be answered whole. */
interface Unanswered {
  count: number
  /** Of the one that came last. */
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
}

// Nobody sends so many ahead but to fill memory.
const UNANSWERED_MAX = 16

// How long what comes after a refused head is dropped, so that its sender sees the answer: a socket
// closed with unread bytes is reset, and a reset takes the answer with it.
const DRAIN_TIMEOUT_MS = 2_000

/**
 * What stands between a connection and its requests. Requests that a client sends ahead of their turn
 * wait for it: a response has no socket before, and would never hear that the client left.
 */
export class Connections {
  readonly #unanswered = new WeakMap<Socket, Unanswered>()
  readonly #refused = new WeakSet<Socket>()

  /** Calls back when it is this request's turn on its connection, which mostly is at once. */
  take(clientRequest: IncomingMessage, client: ServerResponse, serve: () => void): void {
    const { socket } = clientRequest
    const earlier = this.#unanswered.get(socket)
    if (earlier === undefined) {
      this.#add({ count: 1, clientRequest, client })
      serve()
      return
    }
    if (earlier.count === UNANSWERED_MAX) {
      socket.destroy()
      return
    }
    earlier.client.once('close', () => {
      if (!socket.destroyed) serve()
    })
    this.#add({ count: earlier.count + 1, clientRequest, client })
  }

  /**
   * Answers what Node's own parser refuses, unless that would write into another answer. The rest of
   * the refused bytes raise this again and are dropped.
   */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#refused.has(socket)) return
    this.#refused.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    if (this.#isAnswering(socket)) {
      socket.destroySoon()
      return
    }
    socket.write(refusalOf(error))
    const timer = setTimeout(() => socket.destroy(), DRAIN_TIMEOUT_MS)
    socket.once('end', () => socket.destroy())
    socket.once('close', () => clearTimeout(timer))
  }

  #add(unanswered: Unanswered): void {
    const { client, clientRequest } = unanswered
    const { socket } = clientRequest
    this.#unanswered.set(socket, unanswered)
    client.once('close', () => {
      const latest = this.#unanswered.get(socket)
      // An idle connection keeps nothing of what it was used for.
      if (latest === undefined || latest.count === 1) this.#unanswered.delete(socket)
      else latest.count--
    })
  }

  /** Whether an answer is under way or will be: not where the body that it would be to is what is broken. */
  #isAnswering(socket: Socket): boolean {
    const latest = this.#unanswered.get(socket)
    if (latest === undefined) return false
    const { count, clientRequest, client } = latest
    return count > 1 || clientRequest.complete || client.headersSent
  }
}

function refusalOf(error: NodeJS.ErrnoException): string {
  const problem = new Problem(problemCodeOf(error))
  const body = errorEnvelope('openai', { problem, requestId: null })
  return (
    `HTTP/1.1 ${problem.httpStatus} Refused\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  )
}

function problemCodeOf(
  error: NodeJS.ErrnoException,
): 'headers_too_large' | 'request_timeout' | 'bad_request' {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    default:
      return 'bad_request'
  }
}
