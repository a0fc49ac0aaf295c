import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'

/** Streams whose charge comes in a comment, with the official clients, unmodified. */

let apiKey: string

/** The bytes of the last answer, as the client got them. */
let received = ''

const world = worldOfFile()
beforeAll(async () => {
  apiKey = (await world.account()).apiKey
})

const headers = { 'x-service-usage': 'include' }

/** Fetches, and keeps what came. */
const fetchAndKeep: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init)
  const [kept, given] = answer.body?.tee() ?? [null, null]
  void new Response(kept).text().then((text) => {
    received = text
  })
  return new Response(given, answer)
}

const openai = () =>
  new OpenAI({
    apiKey,
    baseURL: world.url('/v1'),
    maxRetries: 0,
    fetch: fetchAndKeep,
    defaultHeaders: headers,
  })

async function expectComment(lastEvent: RegExp): Promise<void> {
  await world.gateway.settled()
  await expect.poll(() => received).toMatch(/\n\n: x-service-usage \{"request_id":"req_/)
  const [before = '', after = ''] = received.split(/: x-service-usage \{.*\}\n\n/)
  expect(before).toMatch(/\n\n$/)
  expect(after).toMatch(lastEvent)
}

test('a chat is read to its end', async () => {
  const stream = await openai().chat.completions.create({
    model: 'sim/text',
    messages: [{ role: 'user', content: 'Say hello.' }],
    stream: true,
  })
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  expect(text).toContain('Say hello.')
  await expectComment(/^data: \[DONE\]\n\n$/)
})

test('a response is read to its end', async () => {
  const stream = await openai().responses.create({
    model: 'sim/text',
    input: 'Say hello.',
    stream: true,
  })
  let last = ''
  for await (const event of stream) last = event.type
  expect(last).toBe('response.completed')
  await expectComment(/"response.completed"/)
})

test('a message is read to its end', async () => {
  const client = new Anthropic({
    apiKey,
    baseURL: world.url(''),
    maxRetries: 0,
    fetch: fetchAndKeep,
    defaultHeaders: headers,
  })
  const message = await client.messages
    .stream({
      model: 'sim/text',
      max_tokens: 200,
      messages: [{ role: 'user', content: 'Say hello.' }],
    })
    .finalMessage()
  expect(message.stop_reason).toBe('end_turn')
  await expectComment(/^event: message_stop\n/)
})
