import { omits } from '../faults.ts'
import type { JsonObject } from '../json-value.ts'
import { type AnswerInput, type Bill, reportedCost } from './format.ts'

/** The `usage` of chat and legacy completions, whose prompt has the cache inside; undefined where left out. */
export function chatUsage(input: AnswerInput, bill: Bill): JsonObject | undefined {
  if (omits(input.fault, 'usage')) return undefined
  const { counts, cost } = bill
  const promptTokens =
    counts.inputTokens +
    counts.cacheReadTokens +
    counts.cacheWriteTokens +
    counts.cacheWriteLongTokens
  const reported = reportedCost(input, bill)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: counts.outputTokens,
    total_tokens: promptTokens + counts.outputTokens,
    cost: reported,
    is_byok: false,
    prompt_tokens_details: {
      cached_tokens: counts.cacheReadTokens,
      cache_write_tokens: counts.cacheWriteTokens + counts.cacheWriteLongTokens,
      audio_tokens: 0,
      video_tokens: 0,
    },
    cost_details:
      reported === undefined
        ? undefined
        : {
            upstream_inference_cost: null,
            upstream_inference_prompt_cost: cost.promptUsd,
            upstream_inference_completions_cost: cost.completionUsd,
          },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoningTokens,
      image_tokens: counts.imageOutputTokens,
      audio_tokens: 0,
      ...(counts.rejectedTokens === 0
        ? {}
        : { accepted_prediction_tokens: 0, rejected_prediction_tokens: counts.rejectedTokens }),
    },
    server_tool_use_details:
      counts.searches === 0
        ? undefined
        : {
            web_search_requests: counts.searches,
            tool_calls_requested: counts.searches,
            tool_calls_executed: counts.searches,
          },
  }
}
