import type { JsonObject } from './json-value.ts'
import { type Cost, type Counts, promptTokensOf } from './price.ts'

/** The record of one inference that ran. */
interface Generation {
  readonly id: string
  readonly modelId: string
  readonly modelSlug: string
  readonly apiType: 'completions' | 'embeddings' | 'image'
  readonly createdMs: number
  readonly streamed: boolean
  /** Whether the client went away before its end. */
  readonly cancelled: boolean
  readonly finishReason: string | null
  readonly counts: Counts
  readonly cost: Cost
}

const KEPT_MAX = 50_000
const PICOS_PER_DOLLAR = 1_000_000_000_000

/** The inferences that ran, for `GET /generation?id=`. The oldest make room for new ones. */
export class Generations {
  readonly #byId = new Map<string, Generation>()
  readonly #asks = new Map<string, number>()
  #usedPicos = 0n
  #unknownAsks = 0

  record(generation: Generation): void {
    this.#byId.set(generation.id, generation)
    this.use(generation.cost.totalUsd)
    if (this.#byId.size <= KEPT_MAX) return
    const oldest = this.#byId.keys().next()
    if (oldest.done !== true) this.#byId.delete(oldest.value)
  }

  /** The usage of the key, in dollars: all inferences that were recorded, also those that made room. */
  get usedUsd(): number {
    return Number(this.#usedPicos) / PICOS_PER_DOLLAR
  }

  /** Adds to the usage of the key, as another program with the same key does. */
  use(usd: number): void {
    this.#usedPicos += BigInt(Math.round(usd * PICOS_PER_DOLLAR))
  }

  /** The record, regardless of {@link answerUnknownFirst}. */
  find(id: string): Generation | null {
    return this.#byId.get(id) ?? null
  }

  /** Makes every id unknown to its first so many asks, as a slow upstream's are. */
  answerUnknownFirst(asks: number): void {
    this.#unknownAsks = asks
  }

  /** The answer of `GET /generation` for an ID; null for 404. Counts as an ask. */
  ask(id: string): JsonObject | null {
    if (this.#unknownAsks > 0) {
      const asks = (this.#asks.get(id) ?? 0) + 1
      this.#asks.set(id, asks)
      if (asks <= this.#unknownAsks) return null
    }
    const generation = this.#byId.get(id)
    return generation === undefined ? null : { data: generationJson(generation) }
  }

  clear(): void {
    this.#byId.clear()
    this.#asks.clear()
    this.#unknownAsks = 0
    this.#usedPicos = 0n
  }
}

function generationJson(generation: Generation): JsonObject {
  const { counts, cost } = generation
  const promptTokens = promptTokensOf(counts)
  return {
    id: generation.id,
    api_type: generation.apiType,
    app_id: null,
    cache_discount: null,
    cancelled: generation.cancelled,
    created_at: new Date(generation.createdMs).toISOString(),
    data_region: 'global',
    external_user: null,
    finish_reason: generation.finishReason,
    generation_time: 12,
    http_referer: null,
    is_byok: false,
    latency: 3,
    model: generation.modelId,
    moderation_latency: null,
    native_finish_reason: generation.finishReason,
    native_tokens_cached: counts.cacheReadTokens,
    native_tokens_completion: counts.outputTokens,
    native_tokens_completion_images: counts.imageOutputTokens,
    native_tokens_prompt: promptTokens,
    native_tokens_reasoning: counts.reasoningTokens,
    num_fetches: 0,
    num_input_audio_prompt: 0,
    num_media_completion: counts.outputImages,
    num_media_prompt: counts.inputImages,
    num_search_results: counts.searches === 0 ? null : counts.searches,
    origin: '',
    preset_id: null,
    provider_name: 'Simulator',
    provider_responses: [
      {
        endpoint_id: 'sim',
        id: generation.id,
        is_byok: false,
        latency: 3,
        model_permaslug: generation.modelSlug,
        provider_name: 'Simulator',
        status: 200,
      },
    ],
    request_id: null,
    response_cache_source_id: null,
    router: null,
    service_tier: 'default',
    session_id: null,
    streamed: generation.streamed,
    tokens_completion: counts.outputTokens,
    tokens_prompt: promptTokens,
    total_cost: cost.totalUsd,
    upstream_id: null,
    upstream_inference_cost: 0,
    usage: cost.totalUsd,
    user_agent: null,
    web_search_engine: null,
    workspace_id: null,
  }
}
