import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { WireFormat } from '../formats/format.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'

// Node throws if a header has other characters, and the answer has already been paid for.
const PLAIN_VALUE = /^[\t\x20-\x7e]*$/

// Any other value could be the provider's text.
const SHOULD_RETRY = new Set(['true', 'false'])

/** The provider's headers that clients get: an allow-list of the format. */
export function returnedHeaders(
  upstream: IncomingHttpHeaders,
  { format, publicNames }: { readonly format: WireFormat; readonly publicNames: PublicNames },
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(upstream)) {
    if (typeof value !== 'string' || !PLAIN_VALUE.test(value)) continue
    if (name === 'x-should-retry' && !SHOULD_RETRY.has(value)) continue
    if (format.returnsHeader(name, publicNames)) headers[name] = value
  }
  return headers
}

const PLAIN_TYPES = /^(application\/json|text\/event-stream)(\s*;\s*charset=[\w-]+)?$/i

/** The headers of a successful answer, made from the provider's. */
export function answerHeaders(
  upstream: IncomingHttpHeaders,
  {
    format,
    requestId,
    publicNames,
  }: {
    readonly format: WireFormat
    readonly requestId: string
    readonly publicNames: PublicNames
  },
): OutgoingHttpHeaders {
  const contentType = upstream['content-type'] ?? ''
  const isStream = /^text\/event-stream\b/i.test(contentType)
  const plainType = isStream ? 'text/event-stream' : 'application/json'
  return {
    ...returnedHeaders(upstream, { format, publicNames }),
    'x-request-id': requestId,
    ...(format.family === 'messages' ? { 'request-id': requestId } : {}),
    'content-type': PLAIN_TYPES.test(contentType) ? contentType : plainType,
    // `x-accel-buffering` keeps proxies in front from collecting a stream before they pass it on.
    ...(isStream ? { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } : {}),
  }
}

/** Resolves when the client has its whole answer, or has gone. */
export function clientClosed(client: ServerResponse): Promise<void> {
  if (client.closed) return Promise.resolve()
  return new Promise((resolve) => client.once('close', resolve))
}

/** The status in the log of a request whose client left before it was answered. */
export const CLIENT_LEFT = 499

/** Ends the journey of a request whose client has left. It is never sent, only logged. */
export function clientLeft(): Problem {
  return new Problem('request_timeout', { httpStatus: CLIENT_LEFT, cause: 'the client left' })
}
