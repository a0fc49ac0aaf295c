import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWorld, type World } from '../world.ts'

/* The official clients, unmodified, against a gateway on each vendor. */

const messages = [{ role: 'user' as const, content: 'Say hello.' }]

describe.each(['openai', 'openai-compatible'] as const)('%s', (vendor) => {
  let world: World
  let apiKey: string

  beforeAll(async () => {
    world = await startWorld({ vendor })
    apiKey = (await world.account()).apiKey
  })
  afterAll(() => world.close())

  test("OpenAI's: chat, streamed and not, responses and embeddings", async () => {
    const client = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
    const whole = await client.chat.completions.create({ model: 'sim/text', messages })
    const stream = await client.chat.completions.create({
      model: 'sim/text',
      messages,
      stream: true,
    })
    let text = ''
    for await (const { choices } of stream) {
      expect(choices).toHaveLength(1)
      text += choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(whole.choices[0]?.message.content)
    const response = await client.responses.create({ model: 'sim/text', input: 'Say hello.' })
    expect(response.output_text).toContain('Say hello.')
    const { data } = await client.embeddings.create({ model: 'sim/embed', input: 'Say hello.' })
    expect(data[0]?.embedding).toHaveLength(256)
  })

  test('the AI SDK', async () => {
    const provider = createOpenAI({ apiKey, baseURL: world.url('/v1') })
    const { text } = await generateText({ model: provider('sim/text'), prompt: 'Say hello.' })
    expect(text).toContain('Say hello.')
    const streamed = streamText({ model: provider.chat('sim/text'), prompt: 'Say hello.' })
    expect(await streamed.text).toBe(text)
    expect((await streamed.usage).outputTokens).toBeGreaterThan(0)
  })
})

describe('anthropic', () => {
  let world: World
  let apiKey: string

  beforeAll(async () => {
    world = await startWorld({ vendor: 'anthropic' })
    apiKey = (await world.account()).apiKey
  })
  afterAll(() => world.close())

  test("Anthropic's: messages, streamed and not", async () => {
    const client = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
    const hello = { model: 'sim/text', max_tokens: 200, messages }
    const whole = await client.messages.create(hello)
    const final = await client.messages.stream(hello).finalMessage()
    expect(final.content).toEqual(whole.content)
    expect(final.usage.output_tokens).toBe(whole.usage.output_tokens)
  })

  test('the AI SDK', async () => {
    const provider = createAnthropic({ apiKey, baseURL: world.url('/v1') })
    const model = provider('sim/text')
    const { text } = await generateText({ model, prompt: 'Say hello.', maxOutputTokens: 200 })
    expect(text).toContain('Say hello.')
  })
})
