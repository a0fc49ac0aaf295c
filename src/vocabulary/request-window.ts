/**
 * Admitted requests, or their tokens, over a sliding minute, exact to a second. A row keeps it as a text, which is made when the row is
 * saved: the newest second and the counts from it backwards, `1763712000:3,0,12`. Empty: none. Never changed in place.
 */
export interface RequestWindow {
  readonly second: number
  /** By age in seconds; at most 60. Empty: none. */
  readonly counts: readonly number[]
}

/** The length of a window. */
export const WINDOW_SECONDS = 60

/** `retry-after` of a request that found too many others in flight: when one of them ends is unknown. */
export const IN_FLIGHT_RETRY_SECONDS = 1

/** The window of a key that has sent nothing. */
export const EMPTY_WINDOW: RequestWindow = { second: 0, counts: [] }

interface WindowInput {
  readonly window: RequestWindow
  readonly nowMs: number
}

/** Reads a window against a limit. */
export function readWindow(input: WindowInput & { readonly limit: number }): {
  /** Requests admitted in the window. */
  readonly count: number
  /** Seconds until the window holds fewer than the limit; null if it does by now. */
  readonly retryAfterSeconds: number | null
} {
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

/** The window after so many more were admitted; default: one. */
export function countInWindow(input: WindowInput & { readonly count?: number }): RequestWindow {
  const { second, counts } = windowAt(input)
  let used = counts.length
  while (used > 1 && counts[used - 1] === 0) used--
  const counted = counts.slice(0, used)
  counted[0] = (counted[0] ?? 0) + (input.count ?? 1)
  return { second, counts: counted }
}

/** The second in which a window counts at a moment: the moment's, or its newest after a clock was set back. */
export function secondOfWindow(input: WindowInput): number {
  return windowAt(input).second
}

/** The window with more, or fewer, in one of its seconds; the same if that has left it. */
export function addToSecond(
  window: RequestWindow,
  { second, count }: { readonly second: number; readonly count: number },
): RequestWindow {
  const ageSeconds = window.second - second
  const counted = window.counts[ageSeconds]
  if (counted === undefined) return window
  // After a clock was set back by more than the window and forward again, the second may have been counted afresh, without
  // this request: then others' counts are corrected for it, by at most its own, until they leave the window.
  return { ...window, counts: window.counts.with(ageSeconds, Math.max(0, counted + count)) }
}

// A row is also saved if its window is unchanged.
const texts = new WeakMap<RequestWindow, string>()

/** The advice to a client with too many requests in flight. */
export const IN_FLIGHT_ADVICE = 'Wait for one to end, or ask the operator for a higher limit.'

/** The advice to a client with too many requests in a minute. */
export const RATE_ADVICE =
  'Wait as long as `retry-after` says, or ask the operator for a higher limit.'

/** The advice to an account without paid credit that sends too many requests in a minute. */
export const UNBACKED_ADVICE = 'Adding credit lifts this limit.'

/** The text of a window, for a row. */
export function windowText(window: RequestWindow): string {
  if (window.counts.length === 0) return ''
  let text = texts.get(window)
  if (text === undefined) {
    text = `${window.second}:${window.counts.join(',')}`
    texts.set(window, text)
  }
  return text
}

/** Reads the text of a window. */
export function parseWindow(text: string): RequestWindow {
  const colon = text.indexOf(':')
  if (colon < 0) return EMPTY_WINDOW
  const counts = text.slice(colon + 1).split(',')
  return { second: Number(text.slice(0, colon)), counts: counts.map(Number) }
}

/** The window moved on to now: seconds that left it are dropped, new ones are zero. */
function windowAt({ window, nowMs }: WindowInput): RequestWindow {
  const nowSecond = Math.floor(nowMs / 1_000)
  const passed = nowSecond - window.second
  // A clock set back by more than the window: the counted seconds are meaningless. Set back by less, counting
  // continues in the newest second.
  if (window.counts.length === 0 || passed >= WINDOW_SECONDS || passed < -WINDOW_SECONDS)
    return { second: nowSecond, counts: [0] }
  if (passed <= 0) return window
  const moved = [...new Array<number>(passed).fill(0), ...window.counts]
  moved.length = Math.min(moved.length, WINDOW_SECONDS)
  return { second: nowSecond, counts: moved }
}

/** A limit of requests or tokens in a minute, and the rest of it, as headers state them. */
export interface RateLimit {
  readonly name: 'key' | 'account' | 'key-tokens' | 'account-tokens'
  /** The most in a minute. */
  readonly max: number
  readonly remaining: number
  /** Until some of the rest comes back; 60 at most. */
  readonly resetSeconds: number
}

/**
 * The header fields of a draft of the IETF (draft-ietf-httpapi-ratelimit-headers) that report limits; none without
 * limits.
 */
export function rateLimitHeaders(limits: readonly RateLimit[] | null): Record<string, string> {
  if (limits === null || limits.length === 0) return {}
  let policy = ''
  let rest = ''
  for (const { name, max, remaining, resetSeconds } of limits) {
    const comma = policy === '' ? '' : ', '
    policy += `${comma}"${name}";q=${max};w=${WINDOW_SECONDS}`
    rest += `${comma}"${name}";r=${remaining};t=${resetSeconds}`
  }
  return { 'ratelimit-policy': policy, ratelimit: rest }
}
