import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  embed,
  embedMany,
  generateText,
  isStepCount,
  type LanguageModel,
  Output,
  streamText,
  tool,
} from 'ai'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** The AI SDK with its own providers, unmodified: only their addresses and keys are ours. */

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  // It warns that it does not know the simulator's models.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  const account = await world.account({ creditMicros: 50_000_000 })
  apiKey = account.apiKey
})

function openai() {
  return createOpenAI({ baseURL: world.url('/v1'), apiKey })
}

function compatible() {
  return createOpenAICompatible({
    name: 'tollgate',
    baseURL: world.url('/v1'),
    apiKey,
    supportsStructuredOutputs: true,
  })
}

const MODELS: readonly (readonly [string, () => LanguageModel])[] = [
  ['@ai-sdk/openai on responses', () => openai()('sim/text')],
  ['@ai-sdk/openai on chat', () => openai().chat('sim/text')],
  // Unlike the vendor's own client, this one wants the /v1.
  ['@ai-sdk/anthropic', () => createAnthropic({ baseURL: world.url('/v1'), apiKey })('sim/text')],
  ['@ai-sdk/openai-compatible', () => compatible()('sim/text')],
]

const getWeather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `${city}: sunny, 21 degrees`,
})

describe.each(MODELS)('%s', (_, model) => {
  const once = { maxOutputTokens: 500, maxRetries: 0 }

  test('generateText has text, usage, request id and charge', async () => {
    const { text, finishReason, usage, response } = await generateText({
      ...once,
      model: model(),
      prompt: 'Say hello.',
    })
    expect(text).toContain('Say hello.')
    expect(finishReason).toBe('stop')
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(Number(response.headers?.['x-service-cost'])).toBeGreaterThan(0)
    expect(response.headers?.['x-request-id']).toMatch(/^req_/)
  })

  test('streamText arrives in pieces, with usage at its end', async () => {
    const result = streamText({ ...once, model: model(), prompt: 'Say hello.' })
    const pieces: string[] = []
    for await (const piece of result.textStream) pieces.push(piece)
    expect(pieces.length).toBeGreaterThan(2)
    expect(pieces.join('')).toContain('Say hello.')
    expect((await result.usage).outputTokens).toBeGreaterThan(0)
  })

  const loop = {
    ...once,
    prompt: 'Use get_weather for Oslo.',
    tools: { get_weather: getWeather },
    stopWhen: isStepCount(5),
  }

  test('a tool loop ends in an answer made of the result', async () => {
    const { text, steps } = await generateText({ ...loop, model: model() })
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(text).toContain('21 degrees')
  })

  test('a streamed tool loop ends in an answer made of the result', async () => {
    const result = streamText({ ...loop, model: model() })
    expect(await result.text).toContain('21 degrees')
    expect(await result.steps).toHaveLength(2)
  })

  test('a schema shapes the output, plain and streamed', async () => {
    const output = Output.object({ schema: z.object({ name: z.string(), isAdult: z.boolean() }) })
    const asked = { ...once, prompt: 'A person.', output }
    const plain = await generateText({ ...asked, model: model() })
    const streamed = streamText({ ...asked, model: model() })
    expect(Object.keys(plain.output).sort()).toEqual(['isAdult', 'name'])
    expect(await streamed.output).toEqual(plain.output)
  })

  test('a refusal throws APICallError that is not to be retried, a limit one that is', async () => {
    world.simulator.script([{ status: 400 }, { status: 429 }])
    const asked = { ...once, model: model(), prompt: 'Say hello.' }
    const refused = await failureOf(APICallError, generateText(asked))
    expect([refused.statusCode, refused.isRetryable]).toEqual([400, false])
    const limited = await failureOf(APICallError, generateText(asked))
    expect([limited.statusCode, limited.isRetryable]).toEqual([429, true])
  })
})

describe('@ai-sdk/openai on responses, in a tool loop of a model that thinks', () => {
  const loop = {
    prompt: 'Use get_weather for Oslo.',
    tools: { get_weather: getWeather },
    stopWhen: isStepCount(5),
    maxRetries: 0,
  }
  const thinks = { forceReasoning: true, reasoningEffort: 'low' as const }

  test('the reasoning of an earlier step is sent back whole with store: false', async () => {
    const { text } = await generateText({
      ...loop,
      model: openai()('sim/text'),
      providerOptions: { openai: { ...thinks, store: false } },
    })
    expect(text).toContain('21 degrees')
    const last = world.simulator.requests.findLast(({ isInference }) => isInference)
    const items: unknown = JSON.parse(String(last?.body)).input
    expect(items).toContainEqual(
      expect.objectContaining({ type: 'reasoning', encrypted_content: 'c2VhbGVkIHRob3VnaHRz' }),
    )
  })

  test('without it the reasoning is sent as references to stored items, and is refused', async () => {
    const call = generateText({
      ...loop,
      model: openai()('sim/text'),
      providerOptions: { openai: thinks },
    })
    const error = await failureOf(APICallError, call)
    expect(error.statusCode).toBe(400)
    expect(error.message).toContain('Items are not stored')
  })
})

test('@ai-sdk/openai-compatible sends no schema unless configured that models take one', async () => {
  const bare = createOpenAICompatible({ name: 'tollgate', baseURL: world.url('/v1'), apiKey })
  const output = Output.object({ schema: z.object({ answer: z.string() }) })
  await generateText({ model: bare('sim/text'), prompt: 'A person.', maxRetries: 0, output })
  const format: unknown = JSON.parse(
    String(world.simulator.requests.findLast(({ isInference }) => isInference)?.body),
  ).response_format
  expect(format).toEqual({ type: 'json_object' })
})

test.each([
  ['@ai-sdk/openai', () => openai().embedding('sim/embed')],
  ['@ai-sdk/openai-compatible', () => compatible().embeddingModel('sim/embed')],
])('%s embeds one value and many', async (_, model) => {
  const one = await embed({ model: model(), value: 'Oslo' })
  const many = await embedMany({ model: model(), values: ['Oslo', 'Bergen'] })
  expect(one.embedding).toHaveLength(256)
  expect(many.embeddings).toHaveLength(2)
  expect(many.embeddings[0]).toEqual(one.embedding)
  expect(one.usage.tokens).toBeGreaterThan(0)
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
