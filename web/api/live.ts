const POLL_MS = 2_000
const POLL_MS_MAX = 30_000

/** When a list is asked for again: every 2 seconds, twice as long after each error in a row. */
export function pollDelayMs(errorsInARow: number): number {
  return Math.min(POLL_MS * 2 ** Math.min(errorsInARow, 10), POLL_MS_MAX)
}
