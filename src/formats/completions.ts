import type { JsonBody } from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { Words } from '../vocabulary/public-names.ts'
import { readCompletions } from './billed-options.ts'
import { readChatAnswer } from './chat-answer.ts'
import { readChatCap, readChatStream, readChatStyleFields } from './chat-call.ts'
import { chunkErrorEvent, chunkObservers } from './chat-stream.ts'
import { FIELDS } from './documentation.ts'
import { field } from './fields.ts'
import type { WireFormat } from './format.ts'
import { BODY_BYTES_MAX, CHAT_RULES, OPENAI_STYLE, writesText } from './openai-style.ts'
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
  rules: CHAT_RULES,
  telemetry: { operation: 'text_completion', outputType: null },
  readCall,
  fitsOutputs: writesText,
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
  documentation: {
    summary: 'Legacy text completions.',
    required: ['model', 'prompt'],
    properties: {
      model: FIELDS.model,
      prompt: FIELDS.textOrList,
      stream: FIELDS.stream,
      max_tokens: FIELDS.cap,
    },
    answer: { model: FIELDS.text, choices: FIELDS.objects, usage: FIELDS.object },
    streams: true,
  },
}

function readCall(body: JsonBody, words: Words): Call {
  const { root } = body
  const fields = readChatStyleFields(body, words)
  const prompt = field(root, 'prompt')
  if (prompt === undefined) throw new Problem('missing_prompt', { param: 'prompt' })
  const prompts = countTexts(prompt, { param: 'prompt', takesParts: false })
  return {
    ...fields,
    rules: CHAT_RULES,
    stream: readChatStream(root),
    outputCapTokens: readChatCap(root),
    completions: readCompletions(root, prompts),
  }
}
