import { asksForPriority } from '../../formats/billed-options.ts'
import { numberSource } from '../../json/edit.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from '../../json/walk.ts'
import { addDecimals, type Decimal, isNegative, parseDecimal } from '../../vocabulary/money.ts'
import type { Reported, TokenUsage } from '../../vocabulary/outcome.ts'

/** A token count as reported; null for what is no whole number of tokens. */
export function tokenCount(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

/** A member that is an object; an empty one where it is anything else. */
export function objectAt(owner: JsonObject, name: string): JsonObject {
  const value = owner[name]
  return isJsonObject(value) ? value : {}
}

/**
 * The provider's cost in dollars, from the digits it wrote. Where the upstream account runs on its own
 * provider keys, the reported cost is the aggregator's fee alone and the provider's share stands beside
 * it. Null where no cost, or a negative one, is reported.
 */
export function readCost(body: JsonBody, usagePath: readonly string[]): Decimal | null {
  const cost = decimalAt(body, [...usagePath, 'cost'])
  if (cost === null) return null
  if (usageAt(body, usagePath)['is_byok'] !== true) return cost
  const share = decimalAt(body, [...usagePath, 'cost_details', 'upstream_inference_cost'])
  return share === null ? cost : addDecimals(cost, share)
}

function usageAt(body: JsonBody, path: readonly string[]): JsonObject {
  let at: JsonObject = body.root
  for (const name of path) at = objectAt(at, name)
  return at
}

function decimalAt(body: JsonBody, path: readonly string[]): Decimal | null {
  const source = numberSource(body, path)
  const decimal = source === null ? null : parseDecimal(source)
  return decimal === null || isNegative(decimal) ? null : decimal
}

/**
 * Usage as chat, legacy completions, embeddings and images report it: `prompt_tokens` has cache reads
 * and writes inside. Null where there are no counts.
 */
export function readChatUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const prompt = tokenCount(usage['prompt_tokens'])
  const completion = tokenCount(usage['completion_tokens'])
  if (prompt === null && completion === null) return null
  const promptDetails = objectAt(usage, 'prompt_tokens_details')
  const completionDetails = objectAt(usage, 'completion_tokens_details')
  const cacheReadTokens = tokenCount(promptDetails['cached_tokens']) ?? 0
  const cacheWriteTokens = tokenCount(promptDetails['cache_write_tokens']) ?? 0
  return {
    inputTokens: Math.max(0, (prompt ?? 0) - cacheReadTokens - cacheWriteTokens),
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: 0,
    outputTokens: completion ?? 0,
    reasoningTokens: tokenCount(completionDetails['reasoning_tokens']) ?? 0,
    imageOutputTokens: tokenCount(completionDetails['image_tokens']) ?? 0,
    searches: readSearches(usage),
  }
}

/**
 * The tier that an answer was served at, from the object that has `service_tier` or `speed`. Left out
 * where neither says, or where all that is said is that the provider chose.
 */
export function readServedTier(owner: JsonObject): Pick<Reported, 'servedTier'> {
  const { speed, service_tier: tier } = owner
  const isSaid = typeof speed === 'string' || (typeof tier === 'string' && tier !== 'auto')
  if (!isSaid) return {}
  return { servedTier: asksForPriority(owner) ? 'priority' : 'standard' }
}

/** Searches that the provider ran, under either name that the aggregator gives them. */
export function readSearches(usage: JsonObject): number {
  for (const name of ['server_tool_use_details', 'server_tool_use']) {
    const searches = tokenCount(objectAt(usage, name)['web_search_requests'])
    if (searches !== null) return searches
  }
  return 0
}
