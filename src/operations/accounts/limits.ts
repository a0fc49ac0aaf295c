import { z } from 'zod'
import { Gate, type GateSettings } from '../../journey/gate/gate.ts'
import { byLimit, OWN_LIMITS, type OwnLimit, type OwnLimits } from '../../ledger/ledger.ts'
import type { AccountRow, ApiKeyRow } from '../../store/schema.ts'
import { ALLOWANCE_PERIODS, isTimeZone, periodSpanAt } from '../../vocabulary/allowance.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { invalidParameter } from '../../vocabulary/problem.ts'
import { type Caller, isMember } from '../caller.ts'
import { given } from '../check-input.ts'
import { amountField, moneyField, timeAnswer, timeField } from '../fields.ts'
import type { KeyLimits } from '../operation-parts.ts'

const ZONE_CHARS_MAX = 64

const allowanceField = z
  .strictObject({
    amount: amountField.describe(
      'The most that requests whose holds open in one period can be charged, in micro-dollars.',
    ),
    period: z
      .enum(ALLOWANCE_PERIODS)
      .describe('How often the allowance resets; weeks begin on Monday.'),
    time_zone: z
      .string()
      .refine(
        (name) => name.length <= ZONE_CHARS_MAX && isTimeZone(name),
        'must be a time zone such as Europe/Berlin or UTC',
      )
      .optional()
      .describe(
        'The time zone of the periods, such as `Europe/Berlin`. Default: that of the present allowance, else UTC.',
      ),
  })
  .transform(({ amount, period, time_zone }) => ({
    allowanceMicros: amount,
    allowancePeriod: period,
    allowanceTimeZone: time_zone,
  }))

const REQUESTS_OR_TOKENS_MAX = 1_000_000_000

const limitField = z
  .int()
  .refine(
    (value) => value >= 1,
    'must be at least 1; to refuse all requests, suspend the account or disable the key',
  )
  .refine((value) => value <= REQUESTS_OR_TOKENS_MAX, 'must be at most 1,000,000,000')
  .nullable()
  .optional()

/** Each limit: the unit that it counts, and the description of its field. */
export const LIMIT_WORDS: Readonly<
  Record<OwnLimit['name'], { readonly counts: string; readonly description: string }>
> = {
  requests_per_minute: {
    counts: 'requests per minute',
    description: 'The most requests per minute; null: the default.',
  },
  in_flight: {
    counts: 'requests in flight',
    description: 'The most requests in flight at once; null: the default.',
  },
  tokens_per_minute: {
    counts: 'tokens per minute',
    description:
      'The most tokens per minute: a running request counts as the maximum that it can use, an ended request as the tokens that it used. Null: no limit.',
  },
}

const limitsField = z.strictObject(
  byLimit(({ name }) => limitField.describe(LIMIT_WORDS[name].description)),
)

/** The fields of a body that give an account or a key its own limits. */
export const limitFields = {
  allowance: allowanceField
    .nullable()
    .optional()
    .describe('A limit for each day, week or month; null removes it.'),
  limits: limitsField
    .nullable()
    .optional()
    .describe('Only the given limits are changed; null removes all of them.'),
}

type KeyOwnLimits = Pick<ApiKeyRow, 'requestsPerMinuteMax' | 'inFlightMax'>

interface LimitsBody {
  readonly allowance?: z.output<typeof allowanceField> | null | undefined
  readonly limits?: z.output<typeof limitsField> | null | undefined
}

const NO_LIMITS = byLimit(() => null)

/** The limits that a body changes. By position: the body, and the account or key as it is; null: it is new. */
export function limitChanges(
  { allowance, limits }: LimitsBody,
  before: Pick<OwnLimits, 'allowance'> | null,
): Partial<OwnLimits> {
  const zone = allowance?.allowanceTimeZone ?? before?.allowance?.allowanceTimeZone ?? 'UTC'
  const named = limits === null ? NO_LIMITS : (limits ?? {})
  const changed: { readonly [Field in OwnLimit['field']]?: number | null | undefined } =
    Object.fromEntries(OWN_LIMITS.map(({ name, field }) => [field, named[name]]))
  return given({
    allowance: allowance && { ...allowance, allowanceTimeZone: zone },
    ...changed,
  })
}

/**
 * Lets members lower the limits of their keys. The present limits are null for a new key. Throws Problem
 * `invalid_parameter` if a limit would be raised above both the default and the key's present limit.
 */
export function refuseRaisedLimits(
  caller: Caller,
  { limits }: LimitsBody,
  { defaults, own }: { readonly defaults: KeyLimits; readonly own: KeyOwnLimits | null },
): void {
  if (!isMember(caller)) return
  const checks = [
    [
      'requests_per_minute',
      limits?.requests_per_minute,
      Math.max(defaults.requestsPerMinuteMax, own?.requestsPerMinuteMax ?? 0),
    ],
    ['in_flight', limits?.in_flight, Math.max(defaults.inFlightMax, own?.inFlightMax ?? 0)],
  ] as const
  for (const [name, value, max] of checks) {
    if (value == null || value <= max) continue
    throw invalidParameter(
      `limits.${name}`,
      `\`limits.${name}\` must be at most ${max}; an operator can set more.`,
    )
  }
}

// Another calendar adds up the requests of its period, and all other commands of this process wait for that.
const ALLOWANCES: GateSettings = {
  counts: 'allowances',
  inFlightMax: 10,
  requestsPerMinuteMax: 10,
}

/** Counts, by account, how often members set allowances of keys in this process. */
export function allowanceGate(clock: Clock): Gate {
  return new Gate({ clock, settings: ALLOWANCES })
}

/**
 * Counts a change of a key that sets an allowance, even to the same value, because concurrent changes can find another
 * one. Throws Problem `rate_limited`.
 */
export function countAllowance(gate: Gate, caller: Caller, { allowance }: LimitsBody): void {
  if (allowance == null || !isMember(caller)) return
  const { accountId } = caller
  gate.enter({ accountId, apiKeyId: accountId, hasBackedCredit: true }).leave()
}

/** The limits of an account or a key, with the spend and holds that count against its allowance. */
export const limitShapes = {
  allowance: z
    .object({
      amount: moneyField,
      period: z.enum(ALLOWANCE_PERIODS),
      time_zone: z.string(),
      spent: moneyField.describe(
        'Charges and corrections of the requests whose holds opened in this period, in micro-dollars.',
      ),
      held: moneyField.describe('The credit held for these requests, in micro-dollars.'),
      resets_at: timeField.describe('When the next period begins.'),
    })
    .nullable()
    .describe('A limit for each day, week or month; null: there is none.'),
  limits: z
    .object(byLimit(({ name }) => z.int().nullable().describe(LIMIT_WORDS[name].description)))
    .describe('The limits that are set for this account or key.'),
}

type LimitsAnswer = {
  readonly [Name in keyof typeof limitShapes]: z.infer<(typeof limitShapes)[Name]>
}

/** Limits as responses have them. */
export function limitsAnswer(
  row: OwnLimits & Pick<AccountRow, 'period'>,
  nowMs: number,
): LimitsAnswer {
  return {
    allowance: allowanceAnswer(row, nowMs),
    limits: byLimit(({ field }) => row[field]),
  }
}

function allowanceAnswer(
  { allowance, period }: Pick<AccountRow, 'allowance' | 'period'>,
  nowMs: number,
): LimitsAnswer['allowance'] {
  if (allowance === null || period === null) return null
  // The row changes to the next period with its first request.
  const hasEnded = nowMs >= period.periodEndsAtMs
  const endsAtMs = hasEnded ? periodSpanAt(allowance, nowMs).endsAtMs : period.periodEndsAtMs
  return {
    amount: allowance.allowanceMicros,
    period: allowance.allowancePeriod,
    time_zone: allowance.allowanceTimeZone,
    spent: hasEnded ? 0 : period.periodSpendMicros,
    held: hasEnded ? 0 : period.periodHeldMicros,
    resets_at: timeAnswer(endsAtMs),
  }
}
