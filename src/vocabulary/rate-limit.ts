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
 * The header fields of a draft of the IETF (draft-ietf-httpapi-ratelimit-headers) that tell limits; none without
 * limits.
 */
export function rateLimitHeaders(limits: readonly RateLimit[] | null): Record<string, string> {
  if (limits === null || limits.length === 0) return {}
  let policy = ''
  let rest = ''
  for (const { name, max, remaining, resetSeconds } of limits) {
    const comma = policy === '' ? '' : ', '
    policy += `${comma}"${name}";q=${max};w=60`
    rest += `${comma}"${name}";r=${remaining};t=${resetSeconds}`
  }
  return { 'ratelimit-policy': policy, ratelimit: rest }
}
