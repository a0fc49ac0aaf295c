import type { ApiKey } from '../../api/answers.ts'

/** The state of a key, in a word, and the colour of its chip. */
export interface KeyState {
  readonly word: 'Active' | 'Disabled' | 'Expired' | 'Limit reached'
  readonly tone: 'good' | 'off' | 'bad' | 'wait'
}

/** Whether requests with a key are accepted; the reason that the gateway names first wins. */
export function keyState(apiKey: ApiKey, now: Date): KeyState {
  if (apiKey.disabled) return { word: 'Disabled', tone: 'off' }
  if (apiKey.expires_at !== null && Date.parse(apiKey.expires_at) <= now.getTime()) {
    return { word: 'Expired', tone: 'bad' }
  }
  if (remainingMicros(apiKey) === 0) return { word: 'Limit reached', tone: 'wait' }
  return { word: 'Active', tone: 'good' }
}

/** The rest of its limit; null without one. */
export function remainingMicros({ credit_limit, spend, held }: ApiKey): number | null {
  return credit_limit === null ? null : Math.max(0, credit_limit - spend - held)
}
