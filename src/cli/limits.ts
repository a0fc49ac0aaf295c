import type { z } from 'zod'
import { LEDGER_LIMITS_DEFAULT, OWN_LIMITS, type OwnLimit } from '../ledger/ledger.ts'
import type { apiKeyShape } from '../operations/accounts/api-key-answer.ts'
import { LIMIT_WORDS } from '../operations/accounts/limits.ts'
import { ALLOWANCE_PERIODS } from '../vocabulary/allowance.ts'
import { showMicros } from '../vocabulary/money.ts'
import { orNone, readDollars } from './options.ts'
import { UsageFailure } from './terminal.ts'
import type { Taken } from './typed-input.ts'

/** The spend of an allowance in its period, such as `$2.50 of $20.00/day`. */
export function allowanceText({
  allowance,
}: Pick<z.output<typeof apiKeyShape>, 'allowance'>): string {
  if (allowance === null) return '-'
  const { spent, amount, period } = allowance
  return `${showMicros(spent)} of ${showMicros(amount)}/${period}`
}

type ShownKey = Pick<z.output<typeof apiKeyShape>, 'limits' | 'default_limits'>

/** The limits of a key, each with whether it is the gateway's default; null: no limit. */
export const LIMIT_DETAILS: Readonly<Record<string, (apiKey: ShownKey) => string | null>> =
  Object.fromEntries(
    OWN_LIMITS.map(({ name }) => [
      LIMIT_WORDS[name].counts,
      ({ limits, default_limits }: ShownKey) => {
        const usual: Readonly<Partial<Record<OwnLimit['name'], number>>> = default_limits
        if (limits[name] !== null) return String(limits[name])
        return usual[name] === undefined ? null : `${usual[name]} (default)`
      },
    ]),
  )

/** The limits that apply where none is set; absent: no limit. */
const USUAL_LIMITS: Readonly<
  Record<'account' | 'key', Readonly<Partial<Record<OwnLimit['name'], string>>>>
> = {
  account: {
    requests_per_minute: `${LEDGER_LIMITS_DEFAULT.unbackedAccountRequestsPerMinuteMax} before its first paid credit (TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED), then no limit`,
  },
  key: {
    requests_per_minute: `${LEDGER_LIMITS_DEFAULT.keyRequestsPerMinuteMax} (TOLLGATE_REQUESTS_PER_MINUTE)`,
    in_flight: `${LEDGER_LIMITS_DEFAULT.openHoldsMax} (TOLLGATE_REQUESTS_IN_FLIGHT)`,
  },
}

/**
 * The options that give an account or a key limits of its own; of a change they also take `none`. By position: the owner of
 * the limits, and whether it is created.
 */
export function limitOptions(owner: 'account' | 'key', of: 'new' | 'changed'): readonly Taken[] {
  const isNew = of === 'new'
  const read = (typed: (text: string) => unknown) => (isNew ? typed : orNone(typed))
  return [
    {
      flags: '--allowance <dollars/period>',
      words: `the maximum that it can spend each day, week or month, such as 20/day${isNew ? '; default: no limit' : ', or none'}`,
      to: 'body.allowance',
      read: read(readAllowance),
    },
    {
      flags: '--allowance-time-zone <zone>',
      words: `the time zone of the allowance, such as Europe/Berlin; default: ${isNew ? 'UTC' : 'unchanged, or UTC for a first allowance'}`,
      to: 'body.allowance.time_zone',
    },
    ...OWN_LIMITS.map(
      ({ name }): Taken => ({
        flags: `--${name.replaceAll('_', '-')} <number>`,
        words: `the maximum of its ${LIMIT_WORDS[name].counts}; ${isNew ? 'default' : 'none'}: ${USUAL_LIMITS[owner][name] ?? 'no limit'}`,
        to: `body.limits.${name}`,
        read: read(readNumber),
      }),
    ),
  ]
}

function readAllowance(text: string): object {
  const [dollars = '', period = '', ...more] = text.split('/')
  if (!ALLOWANCE_PERIODS.some((each) => each === period) || more.length > 0) {
    throw new UsageFailure('must be dollars and a period such as 20/day, 100/week or 500/month')
  }
  return { amount: readDollars(dollars), period }
}

/** The schema checks the range. */
function readNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new UsageFailure('must be a whole number, at least 1')
  return Number(text)
}
