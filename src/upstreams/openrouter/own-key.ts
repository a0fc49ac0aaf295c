import { z } from 'zod'
import type { AllowancePeriod } from '../../vocabulary/allowance.ts'
import type { Micros } from '../../vocabulary/money.ts'

const dollars = z.number()

/** An API key as clients of OpenRouter read it. Amounts are dollars. */
export const ownKeyDataShape = z.object({
  label: z.string(),
  limit: dollars
    .nullable()
    .describe('Its allowance, else its credit limit, in dollars; null: neither.'),
  limit_remaining: dollars
    .nullable()
    .describe('What its allowance and its credit limit together leave it; null: neither.'),
  limit_reset: z.enum(['daily', 'weekly', 'monthly']).nullable().describe('Null: never.'),
  usage: dollars.describe('Its charges with corrections.'),
  usage_daily: dollars.describe('Since the UTC day began.'),
  usage_weekly: dollars.describe('Since Monday.'),
  usage_monthly: dollars.describe('Since the UTC month began.'),
  is_free_tier: z.boolean().describe('Whether the account never had paid credit.'),
  workspace_id: z.string().describe('The ID of the account.'),
  expires_at: z.iso.datetime().nullable(),
  // Fields of OpenRouter that this gateway has no values for.
  byok_usage: z.literal(0),
  byok_usage_daily: z.literal(0),
  byok_usage_weekly: z.literal(0),
  byok_usage_monthly: z.literal(0),
  include_byok_in_limit: z.literal(false),
  is_management_key: z.literal(false),
  is_provisioning_key: z.literal(false),
  creator_user_id: z.null(),
  organization_id: z.null(),
  allowed_data_regions: z.array(z.never()),
  free_model_daily_requests: z.object({
    limit: z.literal(0),
    remaining: z.literal(0),
    used: z.literal(0),
  }),
  rate_limit: z.object({
    requests: z.literal(-1),
    interval: z.string(),
    note: z.string(),
  }),
})

/** The facts about a key that are shown. */
interface OwnKey {
  /** The first and last characters of its text. */
  readonly prefix: string
  readonly accountId: string
  readonly expiresAtMs: number | null
  readonly spendMicros: Micros
  /** Since the present day, week and month began. */
  readonly spendByPeriod: Readonly<Record<AllowancePeriod, Micros>>
  /** Null: it has no limit. */
  readonly limit: {
    readonly micros: number
    readonly remainingMicros: number
    /** Null: it never resets. */
    readonly period: AllowancePeriod | null
  } | null
  readonly hasBackedCredit: boolean
}

const RESETS = { day: 'daily', week: 'weekly', month: 'monthly' } as const

const MICROS_PER_DOLLAR = 1_000_000

/** A key of the gateway in the layout of OpenRouter's keys. */
export function ownKeyData(apiKey: OwnKey): z.infer<typeof ownKeyDataShape> {
  const { limit, spendByPeriod } = apiKey
  return {
    label: apiKey.prefix,
    limit: limit === null ? null : limit.micros / MICROS_PER_DOLLAR,
    limit_remaining: limit === null ? null : limit.remainingMicros / MICROS_PER_DOLLAR,
    limit_reset: limit === null || limit.period === null ? null : RESETS[limit.period],
    usage: apiKey.spendMicros / MICROS_PER_DOLLAR,
    usage_daily: spendByPeriod.day / MICROS_PER_DOLLAR,
    usage_weekly: spendByPeriod.week / MICROS_PER_DOLLAR,
    usage_monthly: spendByPeriod.month / MICROS_PER_DOLLAR,
    is_free_tier: !apiKey.hasBackedCredit,
    workspace_id: apiKey.accountId,
    expires_at: apiKey.expiresAtMs === null ? null : new Date(apiKey.expiresAtMs).toISOString(),
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    include_byok_in_limit: false,
    is_management_key: false,
    is_provisioning_key: false,
    creator_user_id: null,
    organization_id: null,
    allowed_data_regions: [],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: { requests: -1, interval: '1m', note: 'Headers of each answer have the limits.' },
  }
}
