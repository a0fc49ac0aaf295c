import type { AccountRow } from '../../store/schema.ts'
import { ALLOWANCE_PERIODS } from '../../vocabulary/allowance.ts'
import { micros } from '../../vocabulary/money.ts'
import type { OpenHoldVerdict, OwnLimits } from '../ledger.ts'

const OWN_LIMITS: Readonly<Record<string, keyof OwnLimits>> = {
  requests: 'requestsPerMinuteMax',
  'in-flight': 'inFlightMax',
  tokens: 'tokensPerMinuteMax',
}

/** The limit that a line of a script sets; null: the account or key has none of its own. */
export function ownLimitsOf(
  what: string,
  {
    value = '',
    zone = 'UTC',
  }: { readonly value: string | undefined; readonly zone: string | undefined },
): Partial<OwnLimits> | null {
  const limit = OWN_LIMITS[what]
  if (limit !== undefined) return { [limit]: value === 'none' ? null : Number(value) }
  if (what !== 'allowance') return null
  const [dollars, named] = value.split('/')
  const allowancePeriod = ALLOWANCE_PERIODS.find((period) => period === named)
  if (allowancePeriod === undefined) return { allowance: null }
  return {
    allowance: {
      allowanceMicros: micros(Number(dollars)),
      allowancePeriod,
      allowanceTimeZone: zone,
    },
  }
}

/** A refusal, with the figures of its message. */
export function refusalText({
  code,
  facts,
}: Extract<OpenHoldVerdict, { kind: 'refused' }>): string {
  const { neededMicros, availableMicros, heldMicros, retryAfterSeconds, reached } = facts
  const owner = reached?.of === 'account' && reached.kind === 'inFlight' ? ' of account' : ''
  const tokens = reached?.kind === 'tokensPerMinute' ? ' tokens' : ''
  if (retryAfterSeconds !== null) return `${code}${tokens} retry after ${retryAfterSeconds}`
  if (neededMicros === 0 && availableMicros === 0 && heldMicros === 0)
    return `${code}${tokens}${owner}`
  const resets = reached?.kind === 'allowance' ? `, resets ${reached.resetsAtMs / 1_000}` : ''
  return `${code} needs ${neededMicros} of ${availableMicros}, held ${heldMicros}${resets}`
}

/** A period, as `show` answers. */
export function periodText(period: AccountRow['period']): string {
  if (period === null) return ''
  return `, from ${period.periodStartsAtMs / 1_000} spend ${period.periodSpendMicros} held ${period.periodHeldMicros}`
}
