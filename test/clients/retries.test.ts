import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../src/vocabulary/problem.ts'
import { startWorld, type World } from '../world.ts'

/** How often the official clients send a request that failed, as docs/errors.md says under "Again". */

const RETRIES_MAX = 2
const UNKNOWN_KEY = 'sk-tollgate-unknown'

let world: World
let apiKey: string
let poorKey: string

beforeAll(async () => {
  world = await startWorld()
  apiKey = (await world.account()).apiKey
  poorKey = (await world.account({ creditMicros: 0 })).apiKey
})
afterAll(() => world.close())

interface Attempt {
  readonly httpStatus: number
  readonly shouldRetry: string | null
}

/** A `fetch` that records each attempt, and waits for none: a `retry-after` becomes a millisecond. */
function recordingFetch(): { readonly attempts: Attempt[]; readonly fetch: typeof fetch } {
  const attempts: Attempt[] = []
  return {
    attempts,
    async fetch(input, init) {
      const answer = await fetch(input, init)
      const headers = new Headers(answer.headers)
      attempts.push({ httpStatus: answer.status, shouldRetry: headers.get('x-should-retry') })
      headers.set('retry-after-ms', '1')
      return new Response(answer.body, { status: answer.status, headers })
    },
  }
}

interface Sent {
  readonly key: string
  readonly model: string
}

const CLIENTS: readonly (readonly [string, (sent: Sent) => Promise<Attempt[]>])[] = [
  [
    'openai',
    async ({ key, model }) => {
      const { attempts, fetch } = recordingFetch()
      const baseURL = world.url('/v1')
      const client = new OpenAI({ apiKey: key, baseURL, fetch, maxRetries: RETRIES_MAX })
      await client.chat.completions
        .create({ model, messages: [{ role: 'user', content: 'Say hello.' }] })
        .catch(() => undefined)
      return attempts
    },
  ],
  [
    '@anthropic-ai/sdk',
    async ({ key, model }) => {
      const { attempts, fetch } = recordingFetch()
      const baseURL = world.url('')
      const client = new Anthropic({ apiKey: key, baseURL, fetch, maxRetries: RETRIES_MAX })
      await client.messages
        .create({ model, max_tokens: 20, messages: [{ role: 'user', content: 'Say hello.' }] })
        .catch(() => undefined)
      return attempts
    },
  ],
]

describe.each(CLIENTS)('%s', (_, send) => {
  test.each<[ProblemCode, () => Sent]>([
    ['invalid_api_key', () => ({ key: UNKNOWN_KEY, model: 'sim/text' })],
    ['insufficient_credit', () => ({ key: poorKey, model: 'sim/text' })],
    ['model_not_found', () => ({ key: apiKey, model: 'sim/none' })],
    ['unsupported_model', () => ({ key: apiKey, model: 'sim/embed' })],
  ])('sends a request once that is refused with %s', async (code, sent) => {
    const { httpStatus } = PROBLEMS[code]
    expect(await send(sent())).toEqual([{ httpStatus, shouldRetry: 'false' }])
  })

  test('sends a request again that failed at the provider, and gets its answer', async () => {
    world.simulator.script({ status: 500 })
    const attempts = await send({ key: apiKey, model: 'sim/text' })
    expect(attempts).toEqual([
      { httpStatus: 502, shouldRetry: null },
      { httpStatus: 200, shouldRetry: null },
    ])
  })
})
