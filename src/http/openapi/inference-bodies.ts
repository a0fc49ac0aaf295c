import type { Endpoint } from '../../vocabulary/call.ts'
import type { JsonSchema } from './json-schema.ts'

/** What one inference endpoint takes and answers, as far as the gateway itself promises it. */
export interface InferenceBody {
  readonly summary: string
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, JsonSchema>>
  /** Fields that every whole answer has. */
  readonly answer: Readonly<Record<string, JsonSchema>>
  readonly streams: boolean
}

const text: JsonSchema = { type: 'string' }
const integer: JsonSchema = { type: 'integer' }
const number: JsonSchema = { type: 'number' }
const flag: JsonSchema = { type: 'boolean' }
const object: JsonSchema = { type: 'object' }
const objects: JsonSchema = { type: 'array', items: object }
const textOrList: JsonSchema = { type: ['string', 'array'] }
const model: JsonSchema = { type: 'string', description: 'A model id, <author>/<name>.' }
const stream: JsonSchema = { type: 'boolean', default: false }
const cap: JsonSchema = {
  type: 'integer',
  description: 'The most tokens of output; sizes the hold.',
}

/** Each endpoint's own fields; all others pass through to the provider. */
export const INFERENCE_BODIES: Readonly<Record<Endpoint, InferenceBody>> = {
  chat: {
    summary: 'Chat completions.',
    required: ['model', 'messages'],
    properties: {
      model,
      messages: objects,
      stream,
      stream_options: object,
      max_tokens: cap,
      max_completion_tokens: cap,
      temperature: number,
      top_p: number,
      stop: textOrList,
      tools: objects,
      tool_choice: { type: ['string', 'object'] },
      response_format: object,
      reasoning: object,
      modalities: { type: 'array', items: text },
      seed: integer,
    },
    answer: {
      id: text,
      object: text,
      created: integer,
      model: text,
      choices: objects,
      usage: object,
    },
    streams: true,
  },
  completions: {
    summary: 'Legacy text completions.',
    required: ['model', 'prompt'],
    properties: { model, prompt: textOrList, stream, max_tokens: cap },
    answer: { model: text, choices: objects, usage: object },
    streams: true,
  },
  messages: {
    summary: 'Messages.',
    required: ['model', 'messages'],
    properties: {
      model,
      max_tokens: {
        ...cap,
        description: 'The most tokens of output; required where the model lists no maximum.',
      },
      messages: objects,
      system: textOrList,
      stream,
      tools: objects,
      tool_choice: object,
      temperature: number,
      thinking: object,
    },
    answer: { id: text, type: text, role: text, model: text, content: objects, usage: object },
    streams: true,
  },
  responses: {
    summary: 'Responses, stateless: the whole conversation is sent each time.',
    required: ['model', 'input'],
    properties: {
      model,
      input: textOrList,
      instructions: text,
      stream,
      tools: objects,
      tool_choice: { type: ['string', 'object'] },
      max_output_tokens: {
        ...cap,
        description: 'The most tokens of output; required where the model lists no maximum.',
      },
      reasoning: object,
      store: { ...flag, description: 'False, or left out: nothing is stored.' },
    },
    answer: { id: text, object: text, model: text, output: objects, usage: object },
    streams: true,
  },
  embeddings: {
    summary: 'Embeddings.',
    required: ['model', 'input'],
    properties: {
      model,
      input: textOrList,
      encoding_format: { enum: ['float', 'base64'], default: 'float' },
      dimensions: integer,
    },
    answer: { object: text, data: objects, model: text, usage: object },
    streams: false,
  },
  images: {
    summary: 'Images.',
    required: ['model', 'prompt'],
    properties: {
      model,
      prompt: text,
      n: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
      aspect_ratio: text,
      resolution: text,
      size: text,
      quality: text,
      output_format: { enum: ['png', 'jpeg', 'webp'] },
      input_references: { type: 'array' },
      stream,
    },
    answer: { created: integer, data: objects, usage: object },
    streams: true,
  },
}
