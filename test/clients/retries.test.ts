import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../src/vocabulary/problem.ts'
import { Management, textOf } from '../endpoints/management.ts'

/** How often the official clients send a request that failed, as docs/errors.md says under "Again". */

const RETRIES_MAX = 2
const UNKNOWN_KEY = 'sk-tollgate-unknown'

let admin: Management
/** How far the gateway's clock is ahead of the system's. */
let aheadMs = 0
const keys = new Map<string, string>()

beforeAll(async () => {
  admin = await Management.start({ clock: { nowMs: () => Date.now() + aheadMs } })
  const rich = await admin.account(10_000_000)
  const suspended = await admin.account(10_000_000)
  const free = await admin.account()
  const expires_at = new Date(Date.now() + EXPIRES_AFTER_MS).toISOString()
  const farOff = new Date(Date.now() + 100 * EXPIRES_AFTER_MS).toISOString()
  const given = { kind: 'free', amount: 1_000_000, reference: 'free', expires_at: farOff }
  const credited = await admin.post(`/v1/admin/accounts/${free}/credit`, given)
  expect(credited.httpStatus).toBe(201)
  keys.set('usual', await makeKey(rich))
  keys.set('poor', await makeKey(await admin.account()))
  keys.set('free', await makeKey(free))
  keys.set('suspended', await makeKey(suspended))
  await admin.patch(`/v1/admin/accounts/${suspended}`, { disabled: true })
  keys.set('limited', await makeKey(rich, { credit_limit: 1 }))
  keys.set('of one model', await makeKey(rich, { models: { allow: ['sim/open'] } }))
  keys.set('of few tokens', await makeKey(rich, { limits: { tokens_per_minute: 1 } }))
  keys.set('expired', await makeKey(rich, { expires_at }))
  const disabled = await admin.apiKey(rich)
  await admin.patch(`/v1/admin/keys/${disabled.id}`, { disabled: true })
  keys.set('disabled', disabled.text)
})
afterAll(() => admin.close())

const EXPIRES_AFTER_MS = 600_000

async function makeKey(accountId: string, fields: object = {}): Promise<string> {
  const body = { name: 'test', ...fields }
  const made = await admin.post(`/v1/admin/accounts/${accountId}/keys`, body)
  expect(made.httpStatus, JSON.stringify(made.json)).toBe(201)
  return textOf(made.json, 'key')
}

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
  /** By its name above. Default: the usual one. */
  readonly key?: string
  readonly model?: string
  readonly content?: readonly object[]
  /** What the simulator does with it. Default: it answers. */
  readonly fault?: Readonly<Record<string, unknown>>
  /** Whether the key is past its expiry. Default: no. */
  readonly isLate?: boolean
}

/** Sends a chat in each client's format. By position: the key's text, then the body but for its cap. */
type Send = (key: string, body: Body) => Promise<Attempt[]>

interface Body {
  readonly model: string
  // Parts of any kind: the clients check none.
  readonly messages: ReturnType<typeof JSON.parse>
}

const CLIENTS: readonly (readonly [string, Send])[] = [
  [
    'openai',
    async (apiKey, body) => {
      const { attempts, fetch } = recordingFetch()
      const baseURL = admin.world.url('/v1')
      const client = new OpenAI({ apiKey, baseURL, fetch, maxRetries: RETRIES_MAX })
      await client.chat.completions.create(body).catch(() => undefined)
      return attempts
    },
  ],
  [
    '@anthropic-ai/sdk',
    async (apiKey, body) => {
      const { attempts, fetch } = recordingFetch()
      const baseURL = admin.world.url('')
      const client = new Anthropic({ apiKey, baseURL, fetch, maxRetries: RETRIES_MAX })
      await client.messages.create({ ...body, max_tokens: 20 }).catch(() => undefined)
      return attempts
    },
  ],
]

const AUDIO = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]

/** How a provider says why it refuses. */
function refusal(errorType: string): Readonly<Record<string, unknown>> {
  const error = { code: 400, message: 'no', metadata: { error_type: errorType } }
  return { status: 400, rawBody: JSON.stringify({ error }) }
}

/** The codes of inference that docs/errors.md marks "Again: no", as far as an SDK can cause them. */
const FINAL: readonly (readonly [ProblemCode, Sent])[] = [
  ['invalid_api_key', { key: 'unknown' }],
  ['api_key_disabled', { key: 'disabled' }],
  ['api_key_expired', { key: 'expired', isLate: true }],
  ['account_suspended', { key: 'suspended' }],
  ['insufficient_credit', { key: 'poor' }],
  ['key_limit_reached', { key: 'limited' }],
  ['free_credit_not_eligible', { key: 'free' }],
  ['model_not_allowed', { key: 'of one model' }],
  ['missing_model', { model: '' }],
  ['model_not_found', { model: 'sim/none' }],
  ['unsupported_model', { model: 'sim/embed' }],
  ['unsupported_parameter', { content: AUDIO }],
  ['context_length_exceeded', { fault: refusal('context_length_exceeded') }],
  ['content_policy_violation', { fault: refusal('content_policy_violation') }],
  ['provider_rejected_request', { fault: { status: 400 } }],
  ['provider_forbidden', { fault: { status: 403 } }],
  ['provider_not_found', { fault: { status: 404 } }],
  ['provider_request_too_large', { fault: { status: 413 } }],
  ['provider_unprocessable', { fault: { status: 422 } }],
]

describe.each(CLIENTS)('%s', (_, send) => {
  async function attemptsOf(sent: Sent): Promise<Attempt[]> {
    const { key = 'usual', model = 'sim/text', content, fault, isLate = false } = sent
    if (fault !== undefined) admin.world.simulator.script(fault)
    aheadMs = isLate ? EXPIRES_AFTER_MS : 0
    const messages = [{ role: 'user', content: content ?? 'Say hello.' }]
    const attempts = await send(keys.get(key) ?? UNKNOWN_KEY, { model, messages })
    aheadMs = 0
    return attempts
  }

  test.each(FINAL)('sends a request once that is refused with %s', async (code, sent) => {
    const { httpStatus } = PROBLEMS[code]
    expect(await attemptsOf(sent)).toEqual([{ httpStatus, shouldRetry: 'false' }])
  })

  test('sends a request once that alone is above the limit of tokens', async () => {
    const attempts = await attemptsOf({ key: 'of few tokens' })
    expect(attempts).toEqual([{ httpStatus: 429, shouldRetry: 'false' }])
  })

  test('sends a request again that failed at the provider, and gets its answer', async () => {
    const attempts = await attemptsOf({ fault: { status: 500 } })
    expect(attempts).toEqual([
      { httpStatus: 502, shouldRetry: null },
      { httpStatus: 200, shouldRetry: null },
    ])
  })
})
