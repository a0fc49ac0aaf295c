import { z } from 'zod'
import type { RequestRow } from '../../store/schema.ts'
import { promptTokensOf } from '../../vocabulary/outcome.ts'

/** The path at which clients of OpenRouter ask for a generation. */
export const OWN_GENERATION_PATH = '/v1/generation'

/** The moment at which a generation began, as its id has it, in milliseconds; null: the id has none. */
export function generationBeganMs(generationId: string): number | null {
  const [, seconds] = /^gen-(\d{10})-/.exec(generationId) ?? []
  return seconds === undefined ? null : Number(seconds) * 1_000
}

// Fields that clients of OpenRouter read, and that this gateway does not know.
const UNKNOWN_FIELDS = [
  'upstream_inference_cost',
  'cache_discount',
  'num_media_prompt',
  'num_media_completion',
  'num_input_audio_prompt',
  'num_search_results',
  'num_fetches',
  'web_search_engine',
  'service_tier',
  'moderation_latency',
  'finish_reason',
  'native_finish_reason',
  'provider_name',
  'provider_responses',
  'upstream_id',
  'external_user',
  'session_id',
  'app_id',
  'preset_id',
  'response_cache_source_id',
  'http_referer',
  'user_agent',
  'router',
] as const

const UNKNOWN = Object.fromEntries(UNKNOWN_FIELDS.map((name) => [name, z.null()]))

const tokens = z.int().nullable()

/** A generation as clients of OpenRouter read it. */
export const ownGenerationShape = z
  .object({
    data: z.object({
      id: z.string(),
      request_id: z.string(),
      api_type: z.string(),
      model: z.string(),
      created_at: z.iso.datetime(),
      streamed: z.boolean(),
      cancelled: z.boolean(),
      total_cost: z.number().describe('The charge with corrections, in dollars.'),
      usage: z.number().describe('The same.'),
      is_byok: z.literal(false),
      tokens_prompt: tokens,
      tokens_completion: tokens,
      native_tokens_prompt: tokens,
      native_tokens_completion: tokens,
      native_tokens_reasoning: tokens,
      native_tokens_cached: tokens,
      native_tokens_completion_images: tokens,
      latency: z.number().nullable().describe('Milliseconds to the first byte.'),
      generation_time: z.number().nullable().describe('Milliseconds from then to the end.'),
      origin: z.string(),
      data_region: z.literal('global'),
      ...UNKNOWN,
    }),
  })
  .meta({ id: 'Generation' })

const MICROS_PER_DOLLAR = 1_000_000

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
