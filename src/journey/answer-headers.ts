import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { WireFormat } from '../formats/format.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'

/** What a request's headers are made from. */
interface Addressed {
  readonly format: WireFormat
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
}

// A header value that could break out of its line never gets this far: Node refuses to parse one.
const PLAIN_TYPES = /^(application\/json|text\/event-stream)(\s*;\s*charset=[\w-]+)?$/i

/** The format's own request headers, as sent: name and value in turn. */
export function upstreamHeaders(request: Addressed, publicNames: PublicNames): readonly string[] {
  const headers: string[] = []
  for (const name of request.format.forwardedHeaders(publicNames)) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.push(name, value)
  }
  return headers
}

/** What identifies an answer: on every response of an inference endpoint, errors too. */
function identityHeaders({
  format,
  requestId,
}: Pick<Addressed, 'format' | 'requestId'>): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { 'x-request-id': requestId }
  if (format.family === 'messages') headers['request-id'] = requestId
  return headers
}

// What Node agrees to write. It throws for the rest, at a time when the answer has been paid for.
const PLAIN_VALUE = /^[\t\x20-\x7e]*$/

/** The headers of a provider's answer that go back: an allow-list. */
export function returnedHeaders(
  upstream: IncomingHttpHeaders,
  { format, publicNames }: { readonly format: WireFormat; readonly publicNames: PublicNames },
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(upstream)) {
    if (typeof value !== 'string' || !PLAIN_VALUE.test(value)) continue
    if (format.returnsHeader(name, publicNames)) headers[name] = value
  }
  return headers
}

/** The headers of a success, made from the provider's. */
export function answerHeaders(
  upstream: IncomingHttpHeaders,
  { request, publicNames }: { readonly request: Addressed; readonly publicNames: PublicNames },
): OutgoingHttpHeaders {
  const contentType = upstream['content-type'] ?? ''
  const isStream = /^text\/event-stream\b/i.test(contentType)
  const plainType = isStream ? 'text/event-stream' : 'application/json'
  const headers: OutgoingHttpHeaders = {
    ...returnedHeaders(upstream, { format: request.format, publicNames }),
    ...identityHeaders(request),
    'content-type': PLAIN_TYPES.test(contentType) ? contentType : plainType,
  }
  if (isStream) {
    headers['cache-control'] = 'no-cache'
    // Proxies in front that would collect a stream before they pass it on know this header.
    headers['x-accel-buffering'] = 'no'
  }
  return headers
}
