import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem } from '../vocabulary/problem.ts'
import { errorEnvelope } from '../wire/envelope.ts'

/** A request and the response to it. */
interface Exchange {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  /** How many requests came before it on its connection and were not answered by then. */
  readonly waited: number
}

// Nobody waits in a longer row but to fill it.
const WAITING_MAX = 16

// How long what comes after a refused head is dropped, so that its sender sees the answer: a socket
// closed with unread bytes is reset, and a reset takes the answer with it.
const DRAIN_TIMEOUT_MS = 2_000

/**
 * What stands between a connection and its requests. Requests that a client sends ahead of their turn
 * wait for it: a response has no socket before, and would never hear that the client left.
 */
export class Connections {
  readonly #latest = new WeakMap<Socket, Exchange>()
  readonly #refused = new WeakSet<Socket>()

  /** Calls back when it is this request's turn on its connection, which mostly is at once. */
  take(clientRequest: IncomingMessage, client: ServerResponse, serve: () => void): void {
    const { socket } = clientRequest
    const before = this.#latest.get(socket)
    if (before === undefined || before.client.closed) {
      this.#latest.set(socket, { clientRequest, client, waited: 0 })
      serve()
      return
    }
    const waited = before.waited + 1
    this.#latest.set(socket, { clientRequest, client, waited })
    if (waited > WAITING_MAX) {
      socket.destroy()
      return
    }
    before.client.once('close', () => {
      if (!socket.destroyed) serve()
    })
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

  /** Whether an answer is under way or will be: not where the body that it would be to is what is broken. */
  #isAnswering(socket: Socket): boolean {
    const latest = this.#latest.get(socket)
    if (latest === undefined || latest.client.closed) return false
    const { clientRequest, client, waited } = latest
    return waited > 0 || clientRequest.complete || client.headersSent
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
