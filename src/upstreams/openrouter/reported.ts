import type { IncomingHttpHeaders } from 'node:http'
import { asksForPriority } from '../../formats/chat-call.ts'
import { decimalAt } from '../../json/edit.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  objectAt,
  tokenCount,
} from '../../json/walk.ts'
import { addDecimals, type Decimal } from '../../vocabulary/money.ts'
import type { Reported, TokenUsage } from '../../vocabulary/outcome.ts'

// Long enough for any real id, short enough to store and to send in a look-up.
const GENERATION_ID = /^[\x21-\x7e]{1,200}$/

/** An answer's `id` as a generation id; null if it can't be one. */
export function readGenerationId(answerId: unknown): string | null {
  return typeof answerId === 'string' && GENERATION_ID.test(answerId) ? answerId : null
}

/**
 * An answer's `id` if it is OpenRouter's own. Null for other ids, which messages and responses give to their
 * answers and by which no generation can be looked up.
 */
export function readAggregatorId(answerId: unknown): string | null {
  const generationId = readGenerationId(answerId)
  return generationId?.startsWith('gen-') ? generationId : null
}

/** The generation id in an answer's headers. */
export function generationIdOf(headers: IncomingHttpHeaders): string | null {
  return readGenerationId(headers['x-generation-id'])
}

/**
 * The reported cost in dollars, from its digits in the answer. If the upstream account runs on its own provider
 * keys, the reported cost is OpenRouter's fee alone and the provider's share is a separate field; without the share, it
 * is the fee. Null if no cost, or a negative one, is reported.
 */
export function readCost(body: JsonBody, usagePath: readonly string[]): Decimal | null {
  const cost = decimalAt(body, [...usagePath, 'cost'])
  if (cost === null) return null
  if (usagePath.reduce(objectAt, body.root)['is_byok'] !== true) return cost
  const share = decimalAt(body, [...usagePath, 'cost_details', 'upstream_inference_cost'])
  return share === null ? cost : addDecimals(cost, share)
}

/** Whether the upstream account's own key at the provider paid, from an answer's usage. */
export function readOwnProviderKey(usage: JsonValue | undefined): Pick<Reported, 'ownProviderKey'> {
  return isJsonObject(usage) && usage['is_byok'] === true ? { ownProviderKey: true } : {}
}

/**
 * Usage of every format but messages: the input count includes cache reads and writes. Responses calls the
 * counts `input_tokens` and `output_tokens`, all others `prompt_tokens` and `completion_tokens`. Null if there
 * are no counts.
 */
export function readUsage(
  usage: JsonValue | undefined,
  { input, output }: { readonly input: string; readonly output: string },
): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const inputDetails = objectAt(usage, `${input}_tokens_details`)
  const outputDetails = objectAt(usage, `${output}_tokens_details`)
  return believedUsage({
    promptTokens: tokenCount(usage[`${input}_tokens`]),
    outputTokens: tokenCount(usage[`${output}_tokens`]),
    totalTokens: tokenCount(usage['total_tokens']),
    cacheReadTokens: highestCount([
      inputDetails['cached_tokens'],
      // DeepSeek, Moonshot and Perplexity report it under names of their own.
      usage['prompt_cache_hit_tokens'],
      usage['cached_tokens'],
      inputDetails['cache_read_input_tokens'],
    ]),
    ...readCacheWrites(usage, inputDetails),
    // SGLang reports it outside of the details (github.com/sgl-project/sglang/pull/17156).
    reasoningTokens: highestCount([outputDetails['reasoning_tokens'], usage['reasoning_tokens']]),
    imageOutputTokens: tokenCount(outputDetails['image_tokens']),
    searches: readSearches(usage),
  })
}

/**
 * Tokens that were written to a cache. LiteLLM and Alibaba Model Studio have names of their own for them (their code and
 * answers, read 2026-11-29). By position: the usage, and the details of its prompt.
 */
function readCacheWrites(
  usage: JsonObject,
  details: JsonObject,
): Pick<ReportedCounts, 'cacheWriteTokens' | 'cacheWriteLongTokens'> {
  const lifetimes = [
    objectAt(details, 'cache_creation_token_details'),
    objectAt(details, 'cache_creation'),
    objectAt(usage, 'cache_creation'),
  ]
  const shortTokens = highestCount(lifetimes.map((each) => each['ephemeral_5m_input_tokens']))
  const cacheWriteLongTokens = highestCount(
    lifetimes.map((each) => each['ephemeral_1h_input_tokens']),
  )
  const cacheWriteTokens = highestCount([
    details['cache_write_tokens'],
    details['cache_creation_tokens'],
    details['cache_creation_input_tokens'],
    usage['cache_creation_input_tokens'],
    shortTokens + cacheWriteLongTokens,
  ])
  return { cacheWriteTokens, cacheWriteLongTokens }
}

/** The highest of these that is a count; zero: none is. */
function highestCount(counts: readonly (JsonValue | undefined)[]): number {
  return Math.max(...counts.map((count) => tokenCount(count) ?? 0))
}

/**
 * The tier that an answer was served at, from the object that has `service_tier` or `speed`. Left out if neither
 * is there, or if the tier is `auto`.
 */
export function readServedTier(owner: JsonObject): Pick<Reported, 'servedTier'> {
  const { speed, service_tier: tier } = owner
  const isReported = typeof speed === 'string' || (typeof tier === 'string' && tier !== 'auto')
  if (!isReported) return {}
  // Capacity that was bought ahead has no price of its own.
  if (tier === 'scale' && speed === undefined) return { servedTier: 'standard' }
  return { servedTier: asksForPriority(owner) ? 'priority' : 'standard' }
}

/** Searches that the provider ran, under either of OpenRouter's names. */
export function readSearches(usage: JsonObject): number {
  for (const name of ['server_tool_use_details', 'server_tool_use']) {
    const searches = tokenCount(objectAt(usage, name)['web_search_requests'])
    if (searches !== null) return searches
  }
  return 0
}

/** Counts of a format whose prompt tokens include cached tokens. Null: no valid count was sent. */
interface ReportedCounts {
  readonly promptTokens: number | null
  readonly outputTokens: number | null
  /** The sum of prompt and output. */
  readonly totalTokens: number | null
  readonly cacheReadTokens: number | null
  /** Tokens that were written with any lifetime. */
  readonly cacheWriteTokens: number | null
  /** The part of these that have the longest lifetime. Left out: not reported. */
  readonly cacheWriteLongTokens?: number
  /** Reasoning and images are parts of the output tokens. */
  readonly reasoningTokens: number | null
  readonly imageOutputTokens: number | null
  readonly searches: number
}

/**
 * The usage behind counts that may contradict each other; null: neither prompt nor output is counted.
 *
 * - The total replaces a missing count of the prompt. A rest above prompt and output was left out of one of them.
 * - It is the cached tokens, so that the prompt was counted without them, as Anthropic does, if it is exactly as many as
 *   they are, or as they and the reasoning are. It is the reasoning, which Gemini and xAI count only in the total, if it is
 *   exactly as many as that is, or neither.
 * - Otherwise cached tokens are part of the prompt. If they are more than the prompt, it was counted without them if the
 *   total has room for both; else they are the whole prompt.
 * - Parts of the output are never more than the output.
 */
export function believedUsage(counts: ReportedCounts): TokenUsage | null {
  const { promptTokens, outputTokens, searches } = counts
  if (promptTokens === null && outputTokens === null) return null
  const totalTokens = counts.totalTokens ?? 0
  const wholePrompt = wholePromptOf(counts)
  const allOutput = Math.max(outputTokens ?? 0, totalTokens - wholePrompt)
  const cacheReadTokens = Math.min(counts.cacheReadTokens ?? 0, wholePrompt)
  const allWrites = Math.min(counts.cacheWriteTokens ?? 0, wholePrompt - cacheReadTokens)
  const cacheWriteLongTokens = Math.min(counts.cacheWriteLongTokens ?? 0, allWrites)
  const reasoningTokens = Math.min(counts.reasoningTokens ?? 0, allOutput)
  return {
    inputTokens: wholePrompt - cacheReadTokens - allWrites,
    cacheReadTokens,
    cacheWriteTokens: allWrites - cacheWriteLongTokens,
    cacheWriteLongTokens,
    outputTokens: allOutput,
    reasoningTokens,
    imageOutputTokens: Math.min(counts.imageOutputTokens ?? 0, allOutput - reasoningTokens),
    searches,
  }
}

function wholePromptOf(counts: ReportedCounts): number {
  const outputTokens = counts.outputTokens ?? 0
  const totalTokens = counts.totalTokens ?? 0
  if (counts.promptTokens === null) return Math.max(0, totalTokens - outputTokens)
  const cachedTokens = (counts.cacheReadTokens ?? 0) + (counts.cacheWriteTokens ?? 0)
  const reasoningTokens = counts.reasoningTokens ?? 0
  const leftOut = totalTokens - counts.promptTokens - outputTokens
  const isCacheExtra =
    cachedTokens > counts.promptTokens
      ? leftOut >= cachedTokens
      : leftOut !== reasoningTokens &&
        (leftOut === cachedTokens || leftOut === cachedTokens + reasoningTokens)
  return isCacheExtra ? counts.promptTokens + cachedTokens : counts.promptTokens
}
