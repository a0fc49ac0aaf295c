import type { TokenUsage } from '../vocabulary/outcome.ts'

/* Reads usage from the counts that a provider sends. No count is below zero, and no token is counted twice. */

/** Counts of a format whose prompt tokens include cached tokens. Null: no valid count was sent. */
interface SaidCounts {
  readonly promptTokens: number | null
  readonly outputTokens: number | null
  /** Prompt and output. */
  readonly totalTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  /** Parts of the output. */
  readonly reasoningTokens: number | null
  readonly imageOutputTokens: number | null
  readonly searches: number
}

/**
 * The usage behind counts that may contradict each other; null: neither prompt nor output is counted.
 *
 * - The total replaces a missing count of the prompt. What it has above prompt and output was left out of one of them.
 * - It is the cached tokens, so that the prompt was counted without them, as Anthropic does, if it is exactly as many as
 *   they are, or as they and the reasoning are. It is the reasoning, which Gemini and xAI count only in the total, if it is
 *   exactly as many as that is, or neither.
 * - Otherwise cached tokens are part of the prompt. If they are more than the prompt, it was counted without them if the
 *   total has room for both; else they are the whole prompt.
 * - Parts of the output are never more than the output.
 */
export function believedUsage(said: SaidCounts): TokenUsage | null {
  const { promptTokens, outputTokens, searches } = said
  if (promptTokens === null && outputTokens === null) return null
  const totalTokens = said.totalTokens ?? 0
  const wholePrompt = wholePromptOf(said)
  const allOutput = Math.max(outputTokens ?? 0, totalTokens - wholePrompt)
  const cacheReadTokens = Math.min(said.cacheReadTokens ?? 0, wholePrompt)
  const cacheWriteTokens = Math.min(said.cacheWriteTokens ?? 0, wholePrompt - cacheReadTokens)
  const reasoningTokens = Math.min(said.reasoningTokens ?? 0, allOutput)
  return {
    inputTokens: wholePrompt - cacheReadTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: 0,
    outputTokens: allOutput,
    reasoningTokens,
    imageOutputTokens: Math.min(said.imageOutputTokens ?? 0, allOutput - reasoningTokens),
    searches,
  }
}

function wholePromptOf(said: SaidCounts): number {
  const outputTokens = said.outputTokens ?? 0
  const totalTokens = said.totalTokens ?? 0
  if (said.promptTokens === null) return Math.max(0, totalTokens - outputTokens)
  const cachedTokens = (said.cacheReadTokens ?? 0) + (said.cacheWriteTokens ?? 0)
  const reasoningTokens = said.reasoningTokens ?? 0
  const leftOut = totalTokens - said.promptTokens - outputTokens
  const isBeside =
    cachedTokens > said.promptTokens
      ? leftOut >= cachedTokens
      : leftOut !== reasoningTokens &&
        (leftOut === cachedTokens || leftOut === cachedTokens + reasoningTokens)
  return isBeside ? said.promptTokens + cachedTokens : said.promptTokens
}
