import type { Decimal } from './money.ts'

/**
 * Token counts as they are billed: each token stands in one field only, whatever a format calls it
 * (chat's `prompt_tokens` has cache reads and writes inside, messages' `input_tokens` has not).
 */
export interface TokenUsage {
  /** Input neither read from nor written to a cache. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  /** Cache writes, of whatever lifetime unless `cacheWriteLongTokens` says otherwise. */
  readonly cacheWriteTokens: number
  /** Cache writes of the one-hour class. */
  readonly cacheWriteLongTokens: number
  /** All output, reasoning and image tokens within. */
  readonly outputTokens: number
  /** Of `outputTokens`, those spent on reasoning. */
  readonly reasoningTokens: number
  /** Of `outputTokens`, those of generated images. */
  readonly imageOutputTokens: number
  /** Searches that the provider ran. */
  readonly searches: number
}

/** What an answer said of itself. Null where it did not say: never zero by accident. */
export interface Reported {
  readonly usage: TokenUsage | null
  /** The provider's cost in dollars, exactly as written. */
  readonly costUsd: Decimal | null
  readonly generationId: string | null
  /** The tier that it was served at; left out where it did not say. */
  readonly servedTier?: 'standard' | 'priority'
}

/** What an answer that never came, or said nothing, reports. */
export const NOTHING_REPORTED: Reported = { usage: null, costUsd: null, generationId: null }
