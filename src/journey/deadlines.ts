import type { Deadlines } from '../upstreams/upstream.ts'
import type { Call } from '../vocabulary/call.ts'

/** How long the provider may take; SPEC's limits, all settings. */
export interface AttemptTimeouts {
  /** Until the answer's headers. */
  readonly headersTimeoutMs: number
  /** Between two pieces of the body. */
  readonly stallTimeoutMs: number
  /** For a whole answer. A stream has none. */
  readonly totalTimeoutMs: number
  /** For an image, from being forwarded to its end, streamed or not. */
  readonly imageTimeoutMs: number
  /** From the headers of a stream whose client has left until the call is cancelled. */
  readonly readOnTimeoutMs: number
}

/** The deadlines of one attempt. */
export function deadlinesFor(call: Call, timeouts: AttemptTimeouts): Deadlines {
  const { headersTimeoutMs, stallTimeoutMs } = timeouts
  const { total, boundsStreams } = call.rules.deadline
  const totalTimeoutMs = call.stream && !boundsStreams ? null : timeouts[total]
  return { headersTimeoutMs, stallTimeoutMs, totalTimeoutMs }
}
