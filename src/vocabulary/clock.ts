/** A source of time. Passed in, so that a test decides what time it is. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may step backwards, as system clocks do. */
  nowMs(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { nowMs: () => Date.now() }

/** The longest wait of a timer, in milliseconds: Node ends a longer one at once. Some 24 days. */
export const TIMER_MS_MAX = 2 ** 31 - 1

/** Runs a function once after a delay; the returned function cancels it. */
export type StartTimer = (timer: {
  readonly delayMs: number
  readonly run: () => void
}) => () => void

/** A timer that does not keep the process alive. */
export const startUnrefTimer: StartTimer = ({ delayMs, run }) => {
  const timer = setTimeout(run, delayMs).unref()
  return () => clearTimeout(timer)
}

/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000

/** Milliseconds of an hour. */
export const HOUR_MS = 60 * MINUTE_MS

/** Milliseconds of a day of UTC, or of 24 hours. */
export const DAY_MS = 24 * HOUR_MS
