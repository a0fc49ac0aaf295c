import type { JsonBody } from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { Words } from '../vocabulary/public-names.ts'
import { readCompletions } from './billed-options.ts'
import { readChatAnswer } from './chat-answer.ts'
import { readChatCap, readChatStream, readChatStyleFields } from './chat-call.ts'
import { chunkErrorEvent, chunkObservers } from './chat-stream.ts'
import { field } from './fields.ts'
import type { WireFormat } from './format.ts'
import { BODY_BYTES_MAX, OPENAI_STYLE } from './openai-style.ts'
import { refuseUnfitModel, refuseUnreadableFile } from './refusals.ts'
import { capEdit, fileEngineEdits, modelEdit, toolCallsEdit, userEdit } from './rewrites.ts'
import { countTexts } from './text-input.ts'

/** Legacy text completions: `POST /v1/completions`. */
export const completions: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'completions',
  path: '/v1/completions',
  upstreamPath: '/completions',
  bodyBytesMax: BODY_BYTES_MAX,
  hasGenerationId: true,
  readCall,
  checkOffer: (call, input) => {
    refuseUnfitModel(call, input.offer)
    refuseUnreadableFile(call, input)
  },
  rewrites: ({ call, body, offer, outputCapTokens, accountTag, words }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, words),
    ...capEdit(offer, outputCapTokens),
    ...toolCallsEdit(call, body.root),
  ],
  readAnswer: readChatAnswer,
  observeStream: chunkObservers({ textMembers: ['text', 'reasoning'], hasGenerationId: true }),
  errorEvent: (input) => chunkErrorEvent(input, { text: '', logprobs: null }),
}

function readCall(body: JsonBody, words: Words): Call {
  const { root } = body
  const fields = readChatStyleFields(body, words)
  const prompt = field(root, 'prompt')
  if (prompt === undefined) throw new Problem('missing_prompt', { param: 'prompt' })
  const prompts = countTexts(prompt, { param: 'prompt', takesParts: false })
  return {
    ...fields,
    endpoint: 'completions',
    stream: readChatStream(root),
    outputCapTokens: readChatCap(root),
    completions: readCompletions(root, prompts),
  }
}
