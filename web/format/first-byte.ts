import type { UsageFigures } from '../api/answers.ts'
import { duration } from './time.ts'

// With fewer requests, the p95 is the slowest or nearly, and both are guesses inside one step of a histogram.
const P95_FROM_REQUESTS = 20

/** The times to the first byte, as text. */
interface FirstByteTexts {
  /** `640 ms`, of few requests `about 640 ms`; null: no answer yet. */
  readonly p50: string | null
  /** Null: no answer yet, or too few requests. */
  readonly p95: string | null
}

/** The median and the p95 of the times to the first byte; of few requests, only an approximate median. */
export function firstByteTexts({
  requests,
  first_byte_ms_p50: p50,
  first_byte_ms_p95: p95,
}: Pick<UsageFigures, 'requests' | 'first_byte_ms_p50' | 'first_byte_ms_p95'>): FirstByteTexts {
  if (p50 === null || p95 === null) return { p50: null, p95: null }
  if (requests < P95_FROM_REQUESTS) return { p50: `about ${duration(p50)}`, p95: null }
  return { p50: duration(p50), p95: duration(p95) }
}
