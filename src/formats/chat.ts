import type { JsonBody, JsonEdit, JsonObject } from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Words } from '../vocabulary/public-names.ts'
import { readCompletions } from './billed-options.ts'
import { readChatAnswer } from './chat-answer.ts'
import { readChatCap, readChatStream, readChatStyleFields, requireMessages } from './chat-call.ts'
import { chunkErrorEvent, chunkObservers } from './chat-stream.ts'
import { FIELDS } from './documentation.ts'
import { field, readObjects } from './fields.ts'
import type { RewriteInput, WireFormat } from './format.ts'
import { BODY_BYTES_MAX, CHAT_RULES, OPENAI_STYLE, writesText } from './openai-style.ts'
import {
  capEdit,
  fileEngineEdit,
  fileEngineEdits,
  modelEdit,
  toolCallsEdit,
  userEdit,
} from './rewrites.ts'

/** Chat completions: `POST /v1/chat/completions`. */
export const chat: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'chat',
  path: '/v1/chat/completions',
  upstreamPath: '/chat/completions',
  bodyBytesMax: BODY_BYTES_MAX,
  hasGenerationId: true,
  rules: CHAT_RULES,
  telemetry: { operation: 'chat', outputType: null },
  addsFileParser: true,
  readCall,
  fitsOutputs: writesText,
  rewrites,
  readAnswer: readChatAnswer,
  observeStream: chunkObservers({
    textMembers: ['content', 'reasoning', 'reasoning_content', 'arguments', 'refusal'],
    hasGenerationId: true,
  }),
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

function readCall(body: JsonBody, words: Words): Call {
  const { root } = body
  const fields = readChatStyleFields(body, words)
  requireMessages(root)
  return {
    ...fields,
    rules: CHAT_RULES,
    stream: readChatStream(root),
    outputCapTokens: readChatCap(root),
    completions: readCompletions(root, countPrompts(root)),
  }
}

// The upstream takes prompts beside messages; where they are token ids, they are one.
function countPrompts(root: JsonObject): number {
  const prompt = field(root, 'prompt')
  if (!Array.isArray(prompt) || prompt.every((part) => typeof part === 'number')) return 1
  return prompt.length
}

function rewrites(input: RewriteInput): readonly JsonEdit[] {
  const { call, offer } = input
  return [
    ...modelEdit(call, offer),
    userEdit(input.accountTag),
    ...fileParserEdits(input),
    ...capEdit(offer, input.outputCapTokens),
    ...toolCallsEdit(call, input.body.root),
  ]
}

// For a model that reads no files itself, the free parser is set where the body sets none, and in place
// of `native`, which such a model would answer with a paid one.
function fileParserEdits({ call, body, offer, words }: RewriteInput): readonly JsonEdit[] {
  const needsParser = call.media.files > 0 && !offer.inputModalities.has('file')
  if (!needsParser || call.fileParser === 'free') return fileEngineEdits(body.root, words)
  if (call.fileParser === 'native') {
    const plugins = readObjects(body.root, 'plugins')
    return [
      fileEngineEdit(
        plugins.findIndex((plugin) => plugin['id'] === 'file-parser'),
        words,
      ),
    ]
  }
  const plugin = JSON.stringify({ id: 'file-parser', pdf: { engine: words.upstreamFileEngine } })
  return field(body.root, 'plugins') === undefined
    ? [{ kind: 'set', path: ['plugins'], json: `[${plugin}]` }]
    : [{ kind: 'append', path: ['plugins'], json: plugin }]
}
