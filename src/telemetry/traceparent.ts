import type { SpanContext } from '@opentelemetry/api'

// Later versions may have more after the flags, which is not looked at.
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The span that a caller's `traceparent` names (W3C Trace Context); null where it names none. */
export function readTraceparent(header: string | string[] | undefined): SpanContext | null {
  if (typeof header !== 'string' || header.length > 512) return null
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || traceId === undefined || spanId === undefined) return null
  if (version === 'ff' || (version === '00' && more !== undefined)) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '00', 16) & 1, isRemote: true }
}
