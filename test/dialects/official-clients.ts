import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { expect } from 'vitest'
import type { UpstreamName } from './four-upstreams.ts'

/* Requests of vendors' own clients, unmodified, to a gateway on several upstreams, in each way of each format. */

/** One request to be sent: where, with which key, and to whose model. */
export interface Asked {
  readonly address: string
  readonly apiKey: string
  readonly upstream: UpstreamName
  /** In the prompt, and in no other one. */
  readonly mark: string
}

/** A client's view of one request. */
export interface Answered {
  readonly requestId: string
  /** `x-service-cost`; null: it was a stream. */
  readonly costMicros: number | null
  /** The chunks of a stream whose choices are empty. */
  readonly emptyChunks?: number
}

const AUTHORS: Readonly<Record<UpstreamName, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  local: 'local',
  openrouter: 'sim',
}

/** The upstreams that speak each format. */
export const SPEAK: Readonly<Record<string, readonly UpstreamName[]>> = {
  chat: ['openai', 'local', 'openrouter'],
  completions: ['openai', 'local', 'openrouter'],
  responses: ['openai', 'local', 'openrouter'],
  messages: ['anthropic', 'local', 'openrouter'],
  embeddings: ['openai', 'local', 'openrouter'],
  images: ['openrouter'],
}

/** The id of a model of this upstream. By position: the upstream, then the simulator's name of the model. */
export function modelOf(upstream: UpstreamName, name: string): string {
  return `${AUTHORS[upstream]}/${name}`
}

const BUSY_TIMES_MAX = 8

/**
 * Fetches, again while the gateway answers its own 503: on a busy machine, the store may not open a hold in time, and nothing
 * is forwarded. Any other failure is the answer.
 */
export async function fetchUnlessBusy(...sent: Parameters<typeof fetch>): Promise<Response> {
  for (let time = 1; ; time++) {
    const answer = await fetch(...sent)
    if (answer.status !== 503 || time === BUSY_TIMES_MAX) return answer
    const text = await answer.text()
    if (!text.includes('service_unavailable') && !text.includes('overloaded_error')) {
      return new Response(text, answer)
    }
  }
}

function openaiClient({ apiKey, address }: Asked): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${address}/v1`, maxRetries: 0, fetch: fetchUnlessBusy })
}

function anthropicClient({ apiKey, address }: Asked): Anthropic {
  return new Anthropic({ apiKey, baseURL: address, maxRetries: 0, fetch: fetchUnlessBusy })
}

function answered({ headers }: Response): Answered {
  const cost = headers.get('x-service-cost')
  return {
    requestId: headers.get('x-request-id') ?? '',
    costMicros: cost === null ? null : Number(cost),
  }
}

/** Each way of asking in each format, by its name. */
export const WAYS: Readonly<
  Record<string, readonly (readonly [string, (asked: Asked) => Promise<Answered>])[]>
> = {
  chat: [
    ['whole', (asked) => chat(asked, {})],
    ['with a cached prompt', (asked) => chat(asked, { isCached: true })],
    ['in a stream', (asked) => chatStream(asked, {})],
    [
      'in a stream with usage',
      (asked) => chatStream(asked, { stream_options: { include_usage: true } }),
    ],
  ],
  completions: [
    ['whole', completions],
    ['in a stream', (asked) => completionsStream(asked, {})],
    [
      'in a stream with usage',
      (asked) => completionsStream(asked, { stream_options: { include_usage: true } }),
    ],
  ],
  responses: [
    ['whole', (asked) => responses(asked, {})],
    ['with reasoning', (asked) => responses(asked, { reasoning: { effort: 'high' } })],
    ['in a stream', responsesStream],
  ],
  messages: [
    ['whole', (asked) => messages(asked, 'text')],
    ['with a prompt written to the cache', (asked) => messages(asked, 'cached')],
    ['with one written for an hour', (asked) => messages(asked, 'cached', '1h')],
    ['in a stream', messagesStream],
  ],
  embeddings: [['whole', embeddings]],
  images: [['whole', images]],
}

const LONG = 'All of this is read from a cache the next time. '.repeat(60)

/** A whole chat completion. */
export async function chat(
  asked: Asked,
  { isCached = false }: { readonly isCached?: boolean },
): Promise<Answered> {
  const cached = {
    type: 'text' as const,
    text: LONG + asked.mark,
    cache_control: { type: 'ephemeral' },
  }
  const content = isCached ? [cached, { type: 'text' as const, text: 'Say hello.' }] : asked.mark
  const model = modelOf(asked.upstream, isCached ? 'cached' : 'text')
  const { data, response } = await openaiClient(asked)
    .chat.completions.create({ model, messages: [{ role: 'user', content }] })
    .withResponse()
  expect(data.choices[0]?.message.content).toBeTruthy()
  return answered(response)
}

async function chatStream(
  asked: Asked,
  options: Pick<OpenAI.ChatCompletionCreateParams, 'stream_options'>,
): Promise<Answered> {
  const model = modelOf(asked.upstream, 'text')
  const { data, response } = await openaiClient(asked)
    .chat.completions.create({
      model,
      messages: [{ role: 'user', content: asked.mark }],
      stream: true,
      ...options,
    })
    .withResponse()
  return countChunks(data, response)
}

async function countChunks(
  chunks: AsyncIterable<{ readonly choices: readonly unknown[]; readonly usage?: unknown }>,
  response: Response,
): Promise<Answered> {
  let emptyChunks = 0
  let usage: unknown = null
  for await (const chunk of chunks) {
    if (chunk.choices.length === 0) emptyChunks++
    usage = chunk.usage ?? usage
  }
  expect(usage).toMatchObject({ prompt_tokens: expect.any(Number) })
  return { ...answered(response), emptyChunks }
}

async function completions(asked: Asked): Promise<Answered> {
  const { data, response } = await openaiClient(asked)
    .completions.create({
      model: modelOf(asked.upstream, 'text'),
      prompt: asked.mark,
      max_tokens: 50,
    })
    .withResponse()
  expect(data.choices[0]?.text).toBeTruthy()
  return answered(response)
}

async function completionsStream(
  asked: Asked,
  options: Pick<OpenAI.CompletionCreateParams, 'stream_options'>,
): Promise<Answered> {
  const model = modelOf(asked.upstream, 'text')
  const { data, response } = await openaiClient(asked)
    .completions.create({ model, prompt: asked.mark, max_tokens: 50, stream: true, ...options })
    .withResponse()
  return countChunks(data, response)
}

async function responses(
  asked: Asked,
  options: Pick<OpenAI.Responses.ResponseCreateParams, 'reasoning'>,
): Promise<Answered> {
  const { data, response } = await openaiClient(asked)
    .responses.create({ model: modelOf(asked.upstream, 'text'), input: asked.mark, ...options })
    .withResponse()
  expect(data.output_text).toBeTruthy()
  return answered(response)
}

async function responsesStream(asked: Asked): Promise<Answered> {
  const { data, response } = await openaiClient(asked)
    .responses.create({ model: modelOf(asked.upstream, 'text'), input: asked.mark, stream: true })
    .withResponse()
  let isComplete = false
  for await (const { type } of data) isComplete ||= type === 'response.completed'
  expect(isComplete).toBe(true)
  return answered(response)
}

function messagesBody(
  asked: Asked,
  { name, ttl }: { readonly name: string; readonly ttl?: '1h' | undefined },
): Anthropic.MessageCreateParamsNonStreaming {
  const cache_control = { type: 'ephemeral' as const, ...(ttl === undefined ? {} : { ttl }) }
  const question = { type: 'text' as const, text: 'Say hello.' }
  const content =
    name === 'cached'
      ? [{ type: 'text' as const, text: LONG + asked.mark, cache_control }, question]
      : asked.mark
  return {
    model: modelOf(asked.upstream, name),
    max_tokens: 64,
    messages: [{ role: 'user', content }],
  }
}

/** A whole message. By position: the prompt, the simulator's name of the model, and how long its cache lasts. */
export async function messages(asked: Asked, name: string, ttl?: '1h'): Promise<Answered> {
  const { data, response } = await anthropicClient(asked)
    .messages.create(messagesBody(asked, { name, ttl }))
    .withResponse()
  expect(data.content[0]).toMatchObject({ type: 'text', text: expect.any(String) })
  return answered(response)
}

async function messagesStream(asked: Asked): Promise<Answered> {
  const body = messagesBody(asked, { name: 'text' })
  const { data, response } = await anthropicClient(asked)
    .messages.create({ ...body, stream: true })
    .withResponse()
  let isComplete = false
  for await (const { type } of data) isComplete ||= type === 'message_stop'
  expect(isComplete).toBe(true)
  return answered(response)
}

async function embeddings(asked: Asked): Promise<Answered> {
  const { data, response } = await openaiClient(asked)
    .embeddings.create({ model: modelOf(asked.upstream, 'embed'), input: asked.mark + LONG })
    .withResponse()
  expect(data.data[0]?.embedding).toHaveLength(256)
  return answered(response)
}

// OpenAI's client has no method for this path, and takes any.
async function images(asked: Asked): Promise<Answered> {
  const body = { model: modelOf(asked.upstream, 'image'), prompt: asked.mark }
  const { response } = await openaiClient(asked).post('/images', { body }).withResponse()
  return answered(response)
}

/** Reads a stream to its first text and leaves. Resolves with the request's id. */
export async function leaveAfterText(asked: Asked): Promise<string> {
  const { upstream, mark } = asked
  const content = JSON.stringify({ events: 2_000, interval_ms: 1, mark })
  const model = modelOf(upstream, 'paced')
  const body = { model, max_tokens: 16_384, messages: [{ role: 'user' as const, content }] }
  if (upstream === 'anthropic') {
    const { data, response } = await anthropicClient(asked)
      .messages.create({ ...body, stream: true })
      .withResponse()
    for await (const { type } of data) if (type === 'content_block_delta') break
    data.controller.abort()
    return answered(response).requestId
  }
  const { data, response } = await openaiClient(asked)
    .chat.completions.create({ ...body, stream: true })
    .withResponse()
  for await (const { choices } of data) if (choices[0]?.delta.content) break
  data.controller.abort()
  return answered(response).requestId
}
