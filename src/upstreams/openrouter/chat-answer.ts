import { member } from '../../formats/fields.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import { isJsonObject, type JsonBody, type JsonObject } from '../../json/walk.ts'
import type { Reported } from '../../vocabulary/outcome.ts'
import type { AnswerReading } from '../upstream.ts'
import { readGenerationId } from './generation-id.ts'
import { readProviderError } from './provider-error.ts'
import { readChatUsage, readCost, readServedTier } from './usage.ts'

/** What a whole answer of chat, legacy completions or embeddings says of itself. */
export function readChatAnswer(answer: JsonBody): AnswerReading {
  const reported = readChatReport(answer)
  const error = readChatError(answer.root)
  return error === null ? { kind: 'success', reported } : { kind: 'error', error, reported }
}

/** What an answer, or one chunk of a stream, reports. */
export function readChatReport(answer: JsonBody): Reported {
  return {
    usage: readChatUsage(answer.root['usage']),
    costUsd: readCost(answer, ['usage']),
    generationId: readGenerationId(answer.root['id']),
    ...readServedTier(answer.root),
  }
}

/**
 * The error that an answer or a chunk carries although its status is 200: at the top level, or inside a
 * choice, or as a choice that merely ended in one. Null where it carries none.
 */
export function readChatError(root: JsonObject): ProviderError | null {
  if (member(root, 'error') !== undefined || root['type'] === 'error') {
    return readProviderError(root, null)
  }
  const choices = root['choices']
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (!isJsonObject(choice)) continue
    if (member(choice, 'error') !== undefined || choice['finish_reason'] === 'error') {
      return readProviderError(choice, null)
    }
  }
  return null
}
