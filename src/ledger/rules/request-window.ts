/**
 * Counts admitted requests over a sliding minute, exact to a second, in a text that a row can keep:
 * the newest second and the counts from it backwards, `1763712000:3,0,12`. Empty: none.
 */

const WINDOW_SECONDS = 60

interface Window {
  readonly second: number
  /** By age in seconds; at most 60. */
  readonly counts: number[]
}

/** A window against a limit. */
interface WindowReading {
  /** Requests admitted in the window. */
  readonly count: number
  /** Seconds until the window holds fewer than the limit; null where it does by now. */
  readonly retryAfterSeconds: number | null
}

interface WindowInput {
  readonly window: string
  readonly nowMs: number
}

/** Reads a window against a limit. */
export function readWindow(input: WindowInput & { readonly limit: number }): WindowReading {
  const { second, counts } = windowAt(input)
  let count = 0
  for (const admitted of counts) count += admitted
  if (count < input.limit) return { count, retryAfterSeconds: null }
  let left = count
  for (let ageSeconds = counts.length - 1; ageSeconds >= 0; ageSeconds--) {
    left -= counts[ageSeconds] ?? 0
    if (left < input.limit) {
      const leavesAtMs = (second - ageSeconds + WINDOW_SECONDS) * 1_000
      return { count, retryAfterSeconds: Math.ceil((leavesAtMs - input.nowMs) / 1_000) }
    }
  }
  // A limit of zero never admits; a full window from now is as true as any answer.
  return { count, retryAfterSeconds: WINDOW_SECONDS }
}

/** The window after one more request was admitted. */
export function countInWindow(input: WindowInput): string {
  const { second, counts } = windowAt(input)
  counts[0] = (counts[0] ?? 0) + 1
  let used = counts.length
  while (counts[used - 1] === 0) used--
  return `${second}:${counts.slice(0, used).join(',')}`
}

/** The window moved on to now: seconds that left it are dropped, new ones are zero. */
function windowAt({ window, nowMs }: WindowInput): Window {
  const nowSecond = Math.floor(nowMs / 1_000)
  const colon = window.indexOf(':')
  if (colon < 0) return { second: nowSecond, counts: [0] }
  const second = Number(window.slice(0, colon))
  const passed = nowSecond - second
  // A clock set back by more than the window: the counted seconds mean nothing any more. Set back by
  // less, counting goes on in the newest second.
  if (passed >= WINDOW_SECONDS || passed < -WINDOW_SECONDS)
    return { second: nowSecond, counts: [0] }
  const counts = window
    .slice(colon + 1)
    .split(',')
    .map(Number)
  if (passed <= 0) return { second, counts }
  const moved = [...new Array<number>(passed).fill(0), ...counts]
  moved.length = Math.min(moved.length, WINDOW_SECONDS)
  return { second: nowSecond, counts: moved }
}
