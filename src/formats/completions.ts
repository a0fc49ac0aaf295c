import type { JsonBody } from '../json/walk.ts'
import { PROBLEMS, Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatCap, readChatStream, readChatStyleFields, readCompletions } from './chat-call.ts'
import { chunkErrorEvent } from './envelope.ts'
import { countTexts, field } from './fields.ts'
import {
  BODY_BYTES_MAX,
  CHAT_RULES,
  FIELDS,
  OPENAI_STYLE,
  type UnsizedCall,
  type WireFormat,
  writesText,
} from './format.ts'
import { otherEndpoint } from './refusals.ts'

/** Legacy text completions: `POST /v1/completions`. */
export const completions: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'completions',
  path: '/v1/completions',
  bodyBytesMax: BODY_BYTES_MAX,
  rules: CHAT_RULES,
  telemetry: { operation: 'text_completion', outputType: null },
  readCall,
  fitsOutputs: writesText,
  errorEvent: (input) => chunkErrorEvent(input, { text: '', logprobs: null }),
  documentation: {
    summary: 'Legacy text completions.',
    required: ['model', 'prompt'],
    properties: {
      model: FIELDS.model,
      prompt: { ...FIELDS.textOrList, description: 'The text to continue, or a list of texts.' },
      stream: FIELDS.stream,
      max_tokens: FIELDS.cap,
    },
    answer: { model: FIELDS.text, choices: FIELDS.objects, usage: FIELDS.object },
    streams: true,
  },
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const { root } = body
  const fields = readChatStyleFields(body, publicNames)
  const prompt = field(root, 'prompt')
  if (prompt === undefined) {
    const message = `${PROBLEMS.missing_prompt.message}${otherEndpoint(root)}`
    throw new Problem('missing_prompt', { param: 'prompt', message })
  }
  const prompts = countTexts(prompt, { param: 'prompt', takesParts: false })
  return {
    ...fields,
    rules: CHAT_RULES,
    ...readChatStream(root),
    ...readChatCap(root),
    completions: readCompletions(root, prompts),
  }
}
