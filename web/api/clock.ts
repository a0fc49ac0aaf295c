import { MINUTE_MS } from '../../src/vocabulary/clock.ts'

// An answer that took longer may have waited while the machine slept.
const TOOK_MS_MAX = 10_000

/** How far the gateway's clock is ahead of the browser's. */
let aheadMs = 0

/**
 * The time now in milliseconds since the Unix epoch, by the gateway's clock: on a computer whose clock is hours off, a
 * range that ends now would otherwise miss the newest requests.
 */
export function currentMs(): number {
  return Date.now() + aheadMs
}

/** The time now as a date, by the gateway's clock. */
export function currentTime(): Date {
  return new Date(currentMs())
}

/** Learns the gateway's clock from the `Date` of an answer. By position: the answer, and when it was asked for. */
export function learnClock({ headers }: Pick<Response, 'headers'>, askedAtMs: number): void {
  const serverMs = Date.parse(headers.get('date') ?? '')
  const answeredMs = Date.now()
  const tookMs = answeredMs - askedAtMs
  if (Number.isNaN(serverMs) || tookMs < 0 || tookMs > TOOK_MS_MAX) return
  const differenceMs = serverMs - answeredMs
  // The header has whole seconds, and clocks are seldom exact: only what a person would notice counts.
  aheadMs = Math.abs(differenceMs) < MINUTE_MS ? 0 : differenceMs
}
