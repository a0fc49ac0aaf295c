import type { JsonBody, JsonObject } from '../json/walk.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import {
  readChatCap,
  readChatStream,
  readChatStyleFields,
  readCompletions,
  requireMessages,
} from './chat-call.ts'
import { chunkErrorEvent } from './envelope.ts'
import { field } from './fields.ts'
import {
  BODY_BYTES_MAX,
  CHAT_RULES,
  FIELDS,
  OPENAI_STYLE,
  type UnsizedCall,
  type WireFormat,
  writesText,
} from './format.ts'

/** Chat completions: `POST /v1/chat/completions`. */
export const chat: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'chat',
  path: '/v1/chat/completions',
  bodyBytesMax: BODY_BYTES_MAX,
  rules: CHAT_RULES,
  telemetry: { operation: 'chat', outputType: null },
  addsFileParser: true,
  readCall,
  fitsOutputs: writesText,
  errorEvent: (input) => chunkErrorEvent(input, { delta: { content: '' } }),
  documentation: {
    summary: 'Chat completions.',
    required: ['model', 'messages'],
    properties: {
      model: FIELDS.model,
      messages: FIELDS.objects,
      stream: FIELDS.stream,
      stream_options: FIELDS.object,
      max_tokens: FIELDS.cap,
      max_completion_tokens: FIELDS.cap,
      temperature: FIELDS.number,
      top_p: FIELDS.number,
      stop: FIELDS.textOrList,
      tools: FIELDS.objects,
      tool_choice: FIELDS.textOrObject,
      response_format: FIELDS.object,
      reasoning: FIELDS.object,
      modalities: { type: 'array', items: FIELDS.text },
      seed: FIELDS.integer,
    },
    answer: {
      id: FIELDS.text,
      object: FIELDS.text,
      created: FIELDS.integer,
      model: FIELDS.text,
      choices: FIELDS.objects,
      usage: FIELDS.object,
    },
    streams: true,
  },
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const { root } = body
  const fields = readChatStyleFields(body, publicNames)
  requireMessages(root)
  return {
    ...fields,
    rules: CHAT_RULES,
    ...readChatStream(root),
    ...readChatCap(root),
    completions: readCompletions(root, countPrompts(root)),
  }
}

// The upstream accepts prompts in addition to messages; an array of token ids is one prompt.
function countPrompts(root: JsonObject): number {
  const prompt = field(root, 'prompt')
  if (!Array.isArray(prompt) || prompt.every((part) => typeof part === 'number')) return 1
  return prompt.length
}
