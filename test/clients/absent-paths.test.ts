import Anthropic, { NotFoundError as AnthropicNotFound } from '@anthropic-ai/sdk'
import OpenAI, { NotFoundError } from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { failureOf } from './failure.ts'

/** Errors of the official clients for endpoints of their vendors that the gateway lacks. */

let openai: OpenAI
let anthropic: Anthropic
const attempts: string[] = []

const world = worldOfFile()
beforeAll(async () => {
  const { apiKey } = await world.account()
  const counting: typeof fetch = (input, init) => {
    // Before an upload, the clients try `fetch` on an address of no server.
    if (String(input).startsWith('http')) attempts.push(String(input))
    return fetch(input, init)
  }
  openai = new OpenAI({ apiKey, baseURL: world.url('/v1'), fetch: counting })
  anthropic = new Anthropic({ apiKey, baseURL: world.url(''), fetch: counting })
})

const LARGE = new Uint8Array(3 * 1024 * 1024)
const file = (name: string) => new File([LARGE], name)
const hello = { model: 'sim/text', messages: [{ role: 'user' as const, content: 'Hi' }] }

const OF_OPENAI: readonly (readonly [string, () => PromiseLike<unknown>, string])[] = [
  [
    'POST /v1/images/generations',
    () => openai.images.generate({ model: 'sim/image', prompt: 'A fjord' }),
    'the gateway makes images at /v1/images',
  ],
  [
    'POST /v1/images/edits',
    () => openai.images.edit({ model: 'sim/image', image: file('a.png'), prompt: 'A fjord' }),
    'the gateway makes images at /v1/images',
  ],
  [
    'POST /v1/files',
    () => openai.files.create({ file: file('a.jsonl'), purpose: 'batch' }),
    '/docs',
  ],
  [
    'POST /v1/audio/transcriptions',
    () => openai.audio.transcriptions.create({ model: 'sim/text', file: file('a.mp3') }),
    '/docs',
  ],
  [
    'POST /v1/moderations',
    () => openai.moderations.create({ input: 'Hi' }),
    '/docs lists the endpoints',
  ],
  [
    'GET /v1/responses/resp_1',
    () => openai.responses.retrieve('resp_1'),
    'the gateway stores no prompts and no answers',
  ],
  [
    'GET /v1/chat/completions/gen-1',
    () => openai.chat.completions.retrieve('gen-1'),
    'the gateway stores no prompts and no answers',
  ],
  [
    'POST /v1/responses/input_tokens',
    () => openai.responses.inputTokens.count({ model: 'sim/text', input: 'Hi' }),
    'tokens are counted in answers only',
  ],
]

const OF_ANTHROPIC: readonly (readonly [string, () => PromiseLike<unknown>])[] = [
  ['POST /v1/messages/count_tokens', () => anthropic.messages.countTokens(hello)],
  [
    'POST /v1/messages/batches',
    () =>
      anthropic.messages.batches.create({
        requests: [{ custom_id: '1', params: { ...hello, max_tokens: 9 } }],
      }),
  ],
  ['POST /v1/files', () => anthropic.beta.files.upload({ file: file('a.pdf') })],
]

describe('a call of a part that the gateway lacks is sent once, and throws NotFoundError that names the path', () => {
  test.each(OF_OPENAI)('openai: %s', async (called, call, why) => {
    attempts.length = 0
    const error = await failureOf(NotFoundError, call())
    expect(error.message).toContain(`${called} does not exist: ${why}`)
    expect([error.code, error.type]).toEqual(['not_found', 'invalid_request_error'])
    expect(error.requestID).toMatch(/^req_/)
    expect(attempts).toHaveLength(1)
  })

  test.each(OF_ANTHROPIC)('@anthropic-ai/sdk: %s', async (called, call) => {
    attempts.length = 0
    const error = await failureOf(AnthropicNotFound, call())
    expect(error.message).toContain(`${called} does not exist: `)
    expect(error.error).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
    expect(attempts).toHaveLength(1)
  })
})
