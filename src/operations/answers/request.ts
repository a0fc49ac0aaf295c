import { z } from 'zod'
import type { RequestRow } from '../../store/schema.ts'
import { REQUEST_STATES } from '../../vocabulary/request-state.ts'
import type { TokenUsage } from '../../vocabulary/usage.ts'
import { amountField, idField, timeAnswer, timeField, timeOrNull } from './fields.ts'

const tokens = z.int()

const usageShape = z.object({
  input_tokens: tokens,
  cache_read_tokens: tokens,
  cache_write_tokens: tokens,
  cache_write_long_tokens: tokens,
  output_tokens: tokens,
  reasoning_tokens: tokens,
  image_output_tokens: tokens,
  searches: z.int(),
})

/** A request in Activity: what it held, cost and was charged. */
export const requestShape = z
  .object({
    id: idField('req'),
    object: z.literal('request'),
    account_id: idField('acct'),
    key_id: idField('key'),
    endpoint: z.string(),
    upstream: z.string(),
    model: z.string(),
    stream: z.boolean(),
    state: z.enum(REQUEST_STATES),
    http_status: z.int().nullable(),
    error_code: z.string().nullable(),
    hold: amountField.describe('The hold of the request, in micro-dollars.'),
    held: amountField.describe('The part of the hold that is still reserved, in micro-dollars.'),
    charge: amountField.describe('The charge with corrections, in micro-dollars.'),
    provider_cost: z
      .string()
      .nullable()
      .describe("The provider's cost in dollars, an exact decimal; null if it is unknown."),
    uncharged_provider_cost: z
      .string()
      .nullable()
      .describe(
        'What the provider billed for a request that was released, in dollars: never charged; null: none is known.',
      ),
    overrun: amountField.describe('The part of the charge above the hold, in micro-dollars.'),
    usage: usageShape.nullable(),
    generation_id: z.string().nullable().describe("The provider's id of the generation."),
    price_snapshot: z.string(),
    opened_at: timeField,
    first_byte_at: timeField.nullable(),
    settled_at: timeField.nullable(),
  })
  .meta({ id: 'Request' })

/** A request as it is answered. */
export function requestAnswer(row: RequestRow): z.infer<typeof requestShape> {
  const holdMicros = row.backedGrantedMicros + row.freeGrantedMicros
  return {
    id: row.id,
    object: 'request',
    account_id: row.accountId,
    key_id: row.apiKeyId,
    endpoint: row.endpoint,
    upstream: row.upstream,
    model: row.modelId,
    stream: row.stream,
    state: row.state,
    http_status: row.httpStatus,
    error_code: row.errorCode,
    hold: holdMicros,
    held: row.backedHeldMicros + row.freeHeldMicros,
    charge: chargeOf(row),
    provider_cost: row.costUsd,
    uncharged_provider_cost: row.lateCostUsd,
    overrun: Math.max(0, chargeOf(row) - holdMicros),
    usage: row.usage === null ? null : usageAnswer(row.usage),
    generation_id: row.generationId,
    price_snapshot: row.priceSnapshotId,
    opened_at: timeAnswer(row.openedAtMs),
    first_byte_at: timeOrNull(row.firstByteAtMs),
    settled_at: timeOrNull(row.settledAtMs),
  }
}

function chargeOf(row: RequestRow): number {
  return row.backedChargeMicros + row.freeChargeMicros
}

function usageAnswer(usage: TokenUsage): z.infer<typeof usageShape> {
  return {
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    cache_write_long_tokens: usage.cacheWriteLongTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    image_output_tokens: usage.imageOutputTokens,
    searches: usage.searches,
  }
}
