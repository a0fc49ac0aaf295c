/** Where time comes from. Passed in, so that a test decides what time it is. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may step backwards, as system clocks do. */
  nowMs(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { nowMs: () => Date.now() }
