import type { JsonBody, JsonObject } from '../json/walk.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readBilledOptions, readPrediction } from './billed-options.ts'
import { refuseLookalikes } from './client-names.ts'
import {
  field,
  readBoolean,
  readCount,
  readModelName,
  readObject,
  readObjects,
  wrongType,
} from './fields.ts'
import { findInlineImages } from './inline-images.ts'
import { surveyBody } from './media.ts'
import { readPlugins, refuseFields } from './refusals.ts'
import type { UnsizedCall } from './size-call.ts'
import { OPENAI_TOOLS, readToolUse, type ToolStyle } from './tools.ts'

/** The fields that all formats read alike. */
type ChatStyleFields = Omit<UnsizedCall, 'rules' | 'stream' | 'outputCapTokens' | 'completions'>

/** Reads these fields. Throws Problem for a field of the wrong type or one that no endpoint supports. */
export function readChatStyleFields(
  body: JsonBody,
  publicNames: PublicNames,
  toolStyle: ToolStyle = OPENAI_TOOLS,
): ChatStyleFields {
  const { root } = body
  refuseLookalikes(root)
  const modelName = readModelName(root)
  refuseFields(root)
  const fileParser = readPlugins(root, publicNames)
  const tools = readToolUse(root, toolStyle, publicNames)
  const { media, inlineImages, cacheWrites, promptGuess, layoutTokens } = surveyBody(root)
  return {
    modelName,
    media,
    tools,
    cacheWrites,
    promptGuess,
    ...readBilledOptions(root),
    fileParser,
    texts: {
      ...findInlineImages(body.bytes, inlineImages),
      unmarked: [],
      layoutTokens,
      prediction: readPrediction(body),
    },
  }
}

/** The output cap of chat and legacy completions: the larger of its two fields; null if neither is set. */
export function readChatCap(
  root: JsonObject,
): Pick<UnsizedCall, 'outputCapTokens' | 'outputCapParams'> {
  let outputCapTokens: number | null = null
  const outputCapParams: string[] = []
  for (const param of ['max_tokens', 'max_completion_tokens'] as const) {
    const capTokens = readCount(root, param)
    if (capTokens === null) continue
    outputCapTokens = Math.max(outputCapTokens ?? 0, capTokens)
    outputCapParams.push(param)
  }
  return outputCapTokens === null ? { outputCapTokens } : { outputCapTokens, outputCapParams }
}

/** Throws `invalid_parameter` unless the `messages` of chat and messages are an array of objects. */
export function requireMessages(root: JsonObject): void {
  if (field(root, 'messages') === undefined) throw wrongType('messages', 'an array of messages')
  readObjects(root, 'messages')
}

/** Whether chat or legacy completions stream, and with an event of the usage alone. Throws `invalid_parameter`. */
export function readChatStream(root: JsonObject): Pick<UnsizedCall, 'stream' | 'asksForUsage'> {
  const streamOptions = readObject(root, 'stream_options') ?? {}
  const asksForUsage = field(streamOptions, 'include_usage') ?? false
  if (typeof asksForUsage !== 'boolean') {
    throw wrongType('stream_options.include_usage', 'true or false')
  }
  const stream = readBoolean(root, 'stream')
  return asksForUsage ? { stream, asksForUsage } : { stream }
}
