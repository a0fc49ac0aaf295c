import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../src/vocabulary/problem.ts'
import { Management, textOf } from '../endpoints/management.ts'

/** How often the official clients send a request that failed, as docs/errors.md says under "Again". */

const RETRIES_MAX = 2
const UNKNOWN_KEY = 'sk-tollgate-unknown'

/** How far the gateway's clock is ahead of the system's. */
let aheadMs = 0
const keys = new Map<string, string>()

const admin = Management.ofFile(() => ({ clock: { nowMs: () => Date.now() + aheadMs } }))
beforeAll(async () => {
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

/** The changes that a test makes to a complete request of the client. */
type OnTheWire = (init: RequestInit) => RequestInit

/** A `fetch` that records each attempt, and waits for none: a `retry-after` becomes a millisecond. */
function recordingFetch(onTheWire: OnTheWire): {
  readonly attempts: Attempt[]
  /** The gateway's answer to each. */
  readonly texts: string[]
  readonly fetch: typeof fetch
} {
  const attempts: Attempt[] = []
  const texts: string[] = []
  return {
    attempts,
    texts,
    async fetch(input, init) {
      const answer = await fetch(input, onTheWire(init ?? {}))
      const headers = new Headers(answer.headers)
      attempts.push({ httpStatus: answer.status, shouldRetry: headers.get('x-should-retry') })
      headers.set('retry-after-ms', '1')
      const text = await answer.text()
      texts.push(text)
      return new Response(text, { status: answer.status, headers })
    },
  }
}

interface Sent {
  /** By its name above. Default: the usual one. */
  readonly key?: string
  readonly model?: string
  readonly content?: readonly object[]
  /** How the simulator responds. Default: it answers. */
  readonly fault?: Readonly<Record<string, unknown>>
  /** Whether the key is past its expiry. Default: no. */
  readonly isLate?: boolean
}

/** A request by the client's own way for any path and any body, since its types have none like it. */
interface SentRaw {
  readonly path?: string
  readonly body?: object
  readonly onTheWire?: OnTheWire
}

interface Body {
  readonly model: string
  // Parts of any kind: the clients check none.
  readonly messages: ReturnType<typeof JSON.parse>
}

interface ClientInput {
  readonly apiKey: string
  readonly fetch: typeof fetch
}

interface Client {
  /** The path of its chats, as an example of any path. */
  readonly path: string
  /** Sends a chat. */
  send(body: Body): PromiseLike<unknown>
  post(path: string, options: { readonly body: object }): PromiseLike<unknown>
}

type StartClient = (input: ClientInput) => Client

const CLIENTS: readonly (readonly [string, StartClient])[] = [
  [
    'openai',
    ({ apiKey, fetch }) => {
      const baseURL = admin.world.url('')
      const options = { apiKey, fetch, maxRetries: RETRIES_MAX }
      const client = new OpenAI({ ...options, baseURL: admin.world.url('/v1') })
      const anyPath = new OpenAI({ ...options, baseURL })
      return {
        path: '/v1/chat/completions',
        send: (body) => client.chat.completions.create(body),
        post: (path, { body }) => anyPath.post(path, { body }),
      }
    },
  ],
  [
    '@anthropic-ai/sdk',
    ({ apiKey, fetch }) => {
      const baseURL = admin.world.url('')
      const client = new Anthropic({ apiKey, baseURL, fetch, maxRetries: RETRIES_MAX })
      return {
        path: '/v1/messages',
        send: (body) => client.messages.create({ ...body, max_tokens: 20 }),
        post: (path, { body }) => client.post(path, { body }),
      }
    },
  ],
]

const AUDIO = [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]

/** How a provider says why it refuses. */
function refusal(errorType: string): Readonly<Record<string, unknown>> {
  const error = { code: 400, message: 'no', metadata: { error_type: errorType } }
  return { status: 400, rawBody: JSON.stringify({ error }) }
}

/** The codes of inference that docs/errors.md marks "Again: no", as far as a typed call of an SDK causes them. */
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

const HELLO = { model: 'sim/text', messages: [{ role: 'user', content: 'Say hello.' }] }

function withHeader(name: string, value: string): OnTheWire {
  return (init) => {
    const headers = new Headers(init.headers)
    headers.set(name, value)
    return { ...init, headers }
  }
}

function withoutKey(init: RequestInit): RequestInit {
  const headers = new Headers(init.headers)
  headers.delete('authorization')
  headers.delete('x-api-key')
  return { ...init, headers }
}

const UNCAPPED = { model: 'sim/uncapped', input: 'Say hello.', messages: undefined }
const TOO_LARGE = [{ role: 'user', content: 'x'.repeat(32 * 1024 * 1024) }]

/** The other codes of inference that docs/errors.md marks "Again: no". */
const FINAL_RAW: readonly (readonly [ProblemCode, SentRaw])[] = [
  ['missing_api_key', { onTheWire: withoutKey }],
  ['invalid_json', { onTheWire: (init) => ({ ...init, body: '{"model":' }) }],
  ['bad_request', { onTheWire: withHeader('content-encoding', 'gzip') }],
  ['invalid_parameter', { body: { max_tokens: 'many' } }],
  ['output_cap_required', { path: '/v1/responses', body: UNCAPPED }],
  ['missing_prompt', { path: '/v1/completions', body: { messages: undefined } }],
  ['request_too_large', { body: { messages: TOO_LARGE } }],
  ['headers_too_large', { onTheWire: withHeader('x-long', 'x'.repeat(100_000)) }],
]

test('every code of inference that is marked "Again: no" has a row below', () => {
  const codes = Object.keys(PROBLEMS).filter(isProblemCode)
  const final = codes.filter(
    (code) => PROBLEMS[code].places.includes('inference') && !PROBLEMS[code].retryable,
  )
  expect([...FINAL, ...FINAL_RAW].map(([code]) => code).sort()).toEqual(final.sort())
})

function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text)
}

describe.each(CLIENTS)('%s', (_, start) => {
  async function attemptsOf(sent: Sent): Promise<Attempt[]> {
    const { key = 'usual', model = 'sim/text', content, fault, isLate = false } = sent
    if (fault !== undefined) admin.world.simulator.script(fault)
    aheadMs = isLate ? EXPIRES_AFTER_MS : 0
    const { attempts, fetch } = recordingFetch((init) => init)
    const client = start({ apiKey: keys.get(key) ?? UNKNOWN_KEY, fetch })
    const messages = [{ role: 'user', content: content ?? 'Say hello.' }]
    await Promise.resolve(client.send({ model, messages })).catch(() => undefined)
    aheadMs = 0
    return attempts
  }

  test.each(FINAL)('sends a request once that is refused with %s', async (code, sent) => {
    const { httpStatus } = PROBLEMS[code]
    expect(await attemptsOf(sent)).toEqual([{ httpStatus, shouldRetry: 'false' }])
  })

  test.each(FINAL_RAW)('sends a raw request once that is refused with %s', async (code, sent) => {
    const { attempts, texts, fetch } = recordingFetch(sent.onTheWire ?? ((init) => init))
    const client = start({ apiKey: keys.get('usual') ?? UNKNOWN_KEY, fetch })
    const { path = client.path, body = {} } = sent
    const posted = Promise.resolve(client.post(path, { body: { ...HELLO, ...body } }))
    await posted.catch(() => undefined)
    const { httpStatus } = PROBLEMS[code]
    expect(attempts).toEqual([{ httpStatus, shouldRetry: 'false' }])
    // Errors of messages have no codes.
    if (!texts[0]?.startsWith('{"type":"error"')) expect(texts[0]).toContain(`"code":"${code}"`)
  })

  test('sends a request once if it alone exceeds the limit of tokens', async () => {
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
