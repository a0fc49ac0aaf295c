import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { errorEnvelope } from '../formats/envelope.ts'
import type { EnvelopeFamily } from '../formats/format.ts'
import { ReadRefused, StoreUnavailable } from '../store/store-failure.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { Problem } from '../vocabulary/problem.ts'
import { type RateLimit, rateLimitHeaders } from '../vocabulary/request-window.ts'
import { breakOfBody } from './connections.ts'

interface AnswerProblemInput {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  readonly problem: Problem
  readonly family: EnvelopeFamily
  /** Null on the one path whose 404 has none. */
  readonly requestId: string | null
  /** The limits of a minute that applied when the request came. Default: the answer does not state them. */
  readonly rateLimits?: readonly RateLimit[] | null
}

// How much of a refused upload is read, and for how long, so that the sender sees the response: a socket
// that is closed with unread bytes is reset, and the reset discards the response.
const DRAIN_BYTES_MAX = 128 * 1024 * 1024
const DRAIN_TIMEOUT_MS = 10_000
const BROKEN_DRAIN_TIMEOUT_MS = 2_000

// Node itself reads and drops the rest of a body this small, and then reads the next request.
const SMALL_BODY_BYTES_MAX = 64 * 1024

/** The message for calls other than inference while the store can't be reached. */
export const STORE_AWAY =
  "The gateway's store is unavailable at the moment. Try again in a few seconds."

/**
 * Turns anything thrown into a problem. An unknown error is `internal_error`; its text goes to the log only. By position:
 * the thrown value, and the message while the store can't be reached; default: that of inference calls.
 */
export function problemOf(thrown: unknown, storeAway?: string): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof StoreUnavailable) {
    return new Problem('service_unavailable', {
      ...(storeAway === undefined ? {} : { message: storeAway }),
      cause: thrown,
      retryAfterSeconds: 1,
    })
  }
  if (thrown instanceof ReadRefused) return refusedRead(thrown)
  return new Problem('internal_error', { cause: thrown })
}

function refusedRead({ why }: ReadRefused): Problem {
  switch (why) {
    case 'tooLong':
      return new Problem('service_unavailable', {
        message:
          'The requests of this range could not be read within 20 seconds. Ask for fewer days.',
        isFinal: true,
      })
    case 'tooMany':
      return new Problem('service_unavailable', {
        message:
          'Too many people are reading from this gateway at the moment. Try again in a few seconds.',
        retryAfterSeconds: 2,
      })
    default:
      return assertNever(why)
  }
}

/** Answers with a problem, in the family's envelope. Every error response is written here. */
export function answerProblem(input: AnswerProblemInput): void {
  const { clientRequest, client, problem, family, requestId } = input
  if (client.headersSent) {
    // A client notices that a stream broke off only if its connection ends too.
    client.destroy()
    return
  }
  if (client.destroyed) return
  const body = Buffer.from(errorEnvelope(family, { problem, requestId }), 'utf8')
  const headers = problemHeaders(input, body.length)
  if (!isUploading(clientRequest, client)) {
    client.writeHead(problem.httpStatus, headers)
    client.end(body)
    return
  }
  client.writeHead(problem.httpStatus, { ...headers, connection: 'close' })
  client.write(body)
  drain(clientRequest, () => client.end())
}

/** Whether the connection ends after the answer, because more of the body may come: too much to read, or any if it ends anyway. */
function isUploading({ complete, headers }: IncomingMessage, client: ServerResponse): boolean {
  if (complete) return false
  if (client.getHeader('connection') === 'close') return true
  const declaredBytes = Number(headers['content-length'] ?? 0)
  return headers['transfer-encoding'] !== undefined || declaredBytes > SMALL_BODY_BYTES_MAX
}

function problemHeaders(
  { client, problem, family, requestId, rateLimits = null }: AnswerProblemInput,
  contentLength: number,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    'content-length': contentLength,
  }
  if (requestId !== null) headers['x-request-id'] = requestId
  if (requestId !== null && family === 'messages') headers['request-id'] = requestId
  if (problem.retryAfterSeconds !== null) headers['retry-after'] = String(problem.retryAfterSeconds)
  // The provider's own limits are not passed on.
  if (problem.httpStatus === 429 && problem.code !== 'provider_rate_limited')
    Object.assign(headers, rateLimitHeaders(problem.rateLimits ?? rateLimits))
  // On messages a header of the provider is already set, and is kept.
  if (problem.isFinal && !client.hasHeader('x-should-retry')) headers['x-should-retry'] = 'false'
  return headers
}

/** Reads and drops the rest of the body, up to a bound, then calls back once. */
function drain(clientRequest: IncomingMessage, onDrained: () => void): void {
  const { socket } = clientRequest
  const isBroken = breakOfBody(clientRequest) !== null
  let bytes = 0
  let isDrained = false
  const finish = (): void => {
    if (isDrained) return
    isDrained = true
    clearTimeout(timer)
    onDrained()
  }
  const timer = setTimeout(finish, isBroken ? BROKEN_DRAIN_TIMEOUT_MS : DRAIN_TIMEOUT_MS)
  clientRequest.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > DRAIN_BYTES_MAX) finish()
  })
  clientRequest.once('end', finish)
  // Bytes behind a broken body reach only Node's parser, which drops them.
  socket.once('end', finish)
  socket.once('close', finish)
  clientRequest.resume()
  if (isBroken) socket.resume()
  if (socket.readableEnded) finish()
}
