import { z } from 'zod'
import type { RequestRow } from '../../store/schema.ts'
import type { AllowancePeriod } from '../../vocabulary/allowance.ts'
import { MICROS_PER_DOLLAR, type Micros } from '../../vocabulary/money.ts'
import { promptTokensOf } from '../../vocabulary/outcome.ts'
import { wordsOf } from '../../vocabulary/words-of.ts'

// The gateway's own requests and keys in the layouts that clients of OpenRouter read.

/** The path at which clients of OpenRouter ask for a generation. */
export const OWN_GENERATION_PATH = '/v1/generation'

/** The moment at which a generation began, as its id has it, in milliseconds; null: the id has none. */
export function generationBeganMs(generationId: string): number | null {
  const [, seconds] = /^gen-(\d{10})-/.exec(generationId) ?? []
  return seconds === undefined ? null : Number(seconds) * 1_000
}

// Fields that clients of OpenRouter read, and that this gateway does not know.
const UNKNOWN_FIELDS = wordsOf(`
  upstream_inference_cost cache_discount num_media_prompt num_media_completion
  num_input_audio_prompt num_search_results num_fetches web_search_engine service_tier
  moderation_latency finish_reason native_finish_reason provider_name provider_responses
  upstream_id external_user session_id app_id preset_id response_cache_source_id http_referer
  user_agent router
`)

const UNKNOWN = Object.fromEntries(UNKNOWN_FIELDS.map((name) => [name, z.null()]))

const tokens = z
  .int()
  .nullable()
  .describe('The number of tokens of this kind; null: the provider reported no counts.')

/** A generation as clients of OpenRouter read it. */
export const ownGenerationShape = z
  .object({
    data: z
      .object({
        id: z
          .string()
          .describe("The provider's ID of the generation; the `x-request-id` if it has sent none."),
        request_id: z.string(),
        api_type: z.string(),
        model: z.string(),
        created_at: z.iso.datetime(),
        streamed: z.boolean(),
        cancelled: z.boolean(),
        total_cost: z.number().describe('The charge with corrections, in dollars.'),
        usage: z.number().describe('The charge, as in `total_cost`.'),
        is_byok: z.literal(false),
        tokens_prompt: tokens,
        tokens_completion: tokens,
        native_tokens_prompt: tokens,
        native_tokens_completion: tokens,
        native_tokens_reasoning: tokens,
        native_tokens_cached: tokens,
        native_tokens_completion_images: tokens,
        latency: z
          .number()
          .nullable()
          .describe('Milliseconds to the first byte; null: none was sent.'),
        generation_time: z
          .number()
          .nullable()
          .describe('Milliseconds from the first byte to the end; null: not known.'),
        origin: z.string(),
        data_region: z.literal('global'),
        ...UNKNOWN,
      })
      .describe('The request in the layout of OpenRouter.'),
  })
  .meta({ id: 'Generation' })

/** A request of the gateway in the layout of OpenRouter's generations: its cost is the charge. */
export function ownGeneration(row: RequestRow): object {
  const { usage, openedAtMs, firstByteAtMs, endedAtMs } = row
  const totalUsd = (row.backedChargeMicros + row.freeChargeMicros) / MICROS_PER_DOLLAR
  const promptTokens = usage === null ? null : promptTokensOf(usage)
  const outputTokens = usage?.outputTokens ?? null
  const after = (atMs: number | null, fromMs: number | null): number | null =>
    atMs === null || fromMs === null ? null : Math.max(0, atMs - fromMs)
  return {
    id: row.generationId ?? row.id,
    request_id: row.id,
    api_type: API_TYPES.get(row.endpoint) ?? 'completions',
    model: row.modelId,
    created_at: new Date(openedAtMs).toISOString(),
    streamed: row.stream,
    cancelled: row.errorCode === 'client_gone',
    total_cost: totalUsd,
    usage: totalUsd,
    is_byok: false,
    tokens_prompt: promptTokens,
    tokens_completion: outputTokens,
    native_tokens_prompt: promptTokens,
    native_tokens_completion: outputTokens,
    native_tokens_reasoning: usage?.reasoningTokens ?? null,
    native_tokens_cached: usage?.cacheReadTokens ?? null,
    native_tokens_completion_images: usage?.imageOutputTokens ?? null,
    latency: after(firstByteAtMs, openedAtMs),
    generation_time: after(endedAtMs, firstByteAtMs),
    origin: '',
    data_region: 'global',
    ...Object.fromEntries(UNKNOWN_FIELDS.map((name) => [name, null])),
  }
}

/** The types of endpoints other than text. */
const API_TYPES: ReadonlyMap<string, string> = new Map([
  ['embeddings', 'embeddings'],
  ['images', 'image'],
])

const dollars = z.number()

// Fields of OpenRouter's keys that this gateway has no values for.
const FIXED = {
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  include_byok_in_limit: false,
  is_management_key: false,
  is_provisioning_key: false,
  creator_user_id: null,
  organization_id: null,
} as const

/** An API key as clients of OpenRouter read it. Amounts are dollars. */
export const ownKeyDataShape = z.object({
  label: z.string(),
  limit: dollars
    .nullable()
    .describe('Its allowance, else its credit limit, in dollars; null: it has neither.'),
  limit_remaining: dollars
    .nullable()
    .describe('The rest that its allowance and its credit limit both leave; null: it has neither.'),
  limit_reset: z
    .enum(['daily', 'weekly', 'monthly'])
    .nullable()
    .describe('How often the allowance resets; null: never.'),
  usage: dollars.describe('Its charges with corrections.'),
  usage_daily: dollars.describe('Its charges since the UTC day began.'),
  usage_weekly: dollars.describe('Its charges since Monday.'),
  usage_monthly: dollars.describe('Its charges since the UTC month began.'),
  is_free_tier: z.boolean().describe('Whether the account never had paid credit.'),
  workspace_id: z.string().describe('The ID of the account.'),
  expires_at: z.iso.datetime().nullable().describe('When the key expires; null: never.'),
  ...Object.fromEntries(Object.entries(FIXED).map(([name, value]) => [name, z.literal(value)])),
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
    ...FIXED,
    allowed_data_regions: [],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: { requests: -1, interval: '1m', note: 'Headers of each answer have the limits.' },
  }
}
