import { metadataErrorType } from '../error-bodies.ts'
import { DEFAULT_MARKER, omits } from '../faults.ts'
import { type JsonObject, objectOr } from '../json-value.ts'
import { promptTokensOf } from '../price.ts'
import {
  type AnswerInput,
  type Bill,
  costDetails,
  dataFrame,
  type Frame,
  reportedCost,
  reportedId,
  searchDetails,
} from './format.ts'

/* The common parts of chat and legacy completions. */

/** How each body begins. By position: its request, and the kind of object. */
export function headOf(input: AnswerInput, object: string): JsonObject {
  return {
    id: reportedId(input),
    provider: 'Simulator',
    model: input.row.id,
    object,
    created: Math.floor(input.nowMs / 1000),
  }
}

/** The `usage` of chat and legacy completions, whose prompt has the cache inside; undefined where left out. */
export function chatUsage(input: AnswerInput, bill: Bill): JsonObject | undefined {
  if (omits(input.fault, 'usage')) return undefined
  const { counts } = bill
  const promptTokens = promptTokensOf(counts)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: counts.outputTokens,
    total_tokens: promptTokens + counts.outputTokens,
    cost: reportedCost(input, bill),
    is_byok: false,
    prompt_tokens_details: {
      cached_tokens: counts.cacheReadTokens,
      cache_write_tokens: counts.cacheWriteTokens + counts.cacheWriteLongTokens,
      audio_tokens: 0,
      video_tokens: 0,
    },
    cost_details: costDetails(input, bill),
    completion_tokens_details: {
      reasoning_tokens: counts.reasoningTokens,
      image_tokens: counts.imageOutputTokens,
      audio_tokens: 0,
      ...(counts.rejectedTokens === 0
        ? {}
        : { accepted_prediction_tokens: 0, rejected_prediction_tokens: counts.rejectedTokens }),
    },
    server_tool_use_details: searchDetails(counts),
  }
}

/** The error of an answer that failed half-way. */
export function failureOf(input: AnswerInput, code: number): JsonObject {
  const marker = input.fault.marker ?? DEFAULT_MARKER
  return {
    code,
    message: `Provider disconnected (${marker})`,
    metadata: {
      error_type: metadataErrorType(code),
      provider_name: `Provider ${marker}`,
      raw: `upstream 10.0.4.17 ${marker}`,
    },
  }
}

/** The frame with the usage; with `include_usage` it has no choice, without, one that says nothing. */
export function* usageFrame(
  input: AnswerInput,
  bill: Bill,
  parts: { readonly head: string; readonly emptyChoice: string; readonly outputTokens: number },
): Generator<Frame> {
  const usage = chatUsage(input, bill)
  if (usage === undefined) return
  const includes = objectOr(input.body['stream_options'])['include_usage'] === true
  const choices = includes ? '' : parts.emptyChoice
  const text = `${parts.head},"choices":[${choices}],"usage":${JSON.stringify(usage)}}\n\n`
  yield { text, outputTokens: parts.outputTokens }
}

/** The frame that ends a stream with an error. */
export function errorFrameOf(
  input: AnswerInput,
  bill: Bill,
  parts: { readonly head: JsonObject; readonly choice: JsonObject },
): string {
  const { code = 502, withUsage = false } = input.fault.errorEvent ?? {}
  const ending = { finish_reason: 'error', native_finish_reason: 'error' }
  return dataFrame(
    JSON.stringify({
      ...parts.head,
      error: failureOf(input, code),
      choices: [{ index: 0, ...parts.choice, ...ending }],
      usage: withUsage ? chatUsage(input, bill) : undefined,
    }),
  )
}
