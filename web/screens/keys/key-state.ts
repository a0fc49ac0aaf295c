import type { ApiKey } from '../../api/answers.ts'

/** The state of a key, in a word, and the colour of its chip. */
interface KeyState {
  readonly word: string
  readonly tone: 'good' | 'off' | 'bad' | 'wait'
}

const STATES: Readonly<Record<ApiKey['state'], KeyState>> = {
  account_suspended: { word: 'Account suspended', tone: 'bad' },
  disabled: { word: 'Disabled', tone: 'off' },
  expired: { word: 'Expired', tone: 'bad' },
  limit_reached: { word: 'Limit reached', tone: 'wait' },
  active: { word: 'Active', tone: 'good' },
}

/** Whether requests with a key are accepted: the state that the gateway named, or that it has expired since. */
export function keyState({ state, expires_at: expiresAt }: ApiKey, now: Date): KeyState {
  const isActive = state === 'active' || state === 'limit_reached'
  const hasExpired = expiresAt !== null && Date.parse(expiresAt) <= now.getTime()
  return STATES[isActive && hasExpired ? 'expired' : state]
}

/** The rest of its limit; null without one. */
export function remainingMicros({ credit_limit, spend, held }: ApiKey): number | null {
  return credit_limit === null ? null : Math.max(0, credit_limit - spend - held)
}
