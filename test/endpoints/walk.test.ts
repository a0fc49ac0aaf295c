import type { Dispatcher } from 'undici'
import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { listApiKeys } from '../../src/ledger/api-keys.ts'
import { worldOfFile } from '../world.ts'
import { ENDPOINTS, type Endpoint } from './endpoints.ts'
import { WITH_TOY } from './toy-operation.ts'

let credentials: Readonly<Record<Credential, Readonly<Record<string, string>>>>

const CREDENTIALS = {
  'no key': 'missing_api_key',
  'an empty key': 'missing_api_key',
  'an unknown key': 'invalid_api_key',
  'a disabled key': 'api_key_disabled',
  'an expired key': 'api_key_expired',
  'a good key': null,
  'a good key as x-api-key': null,
} as const

type Credential = keyof typeof CREDENTIALS

const CREDENTIAL_NAMES = Object.keys(CREDENTIALS).filter(
  (name): name is Credential => name in CREDENTIALS,
)

async function changedKey(change: { readonly disabled?: true; readonly expiresAtMs?: number }) {
  const { db } = world.gateway.store
  const { id: accountId, apiKey } = await world.account()
  const { rows: apiKeys } = await listApiKeys(db, { accountId, limit: 1 })
  await world.gateway.ledger.updateApiKey({ id: apiKeys[0]?.id ?? '', ...change })
  return apiKey
}

const world = worldOfFile({
  operations: WITH_TOY,
  settings: { TOLLGATE_REQUESTS_PER_MINUTE: '100000' },
})
beforeAll(async () => {
  const { apiKey } = await world.account({ creditMicros: 1_000_000_000 })
  credentials = {
    'no key': {},
    'an empty key': { authorization: 'Bearer ', 'x-api-key': '' },
    'an unknown key': { authorization: `Bearer ${apiKey.slice(0, -1)}_` },
    'a disabled key': { authorization: `Bearer ${await changedKey({ disabled: true })}` },
    'an expired key': { 'x-api-key': await changedKey({ expiresAtMs: 1 }) },
    'a good key': { authorization: `Bearer ${apiKey}` },
    'a good key as x-api-key': { 'x-api-key': apiKey },
  }
})

interface Asked {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: object | undefined
  readonly credential: Credential
}

async function ask({ method, path, body, credential }: Asked) {
  const answer = await request(world.url(path), {
    method,
    headers: credentials[credential],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { statusCode: httpStatus, headers } = answer
  const text = await answer.body.text()
  expect(headers['access-control-allow-origin']).toBeUndefined()
  return { httpStatus, headers, text }
}

type Answer = Awaited<ReturnType<typeof ask>>

/** The types of a status, of the OpenAI-style envelope and of messages. */
const TYPES: Readonly<Record<number, readonly [string, string]>> = {
  401: ['authentication_error', 'authentication_error'],
  404: ['invalid_request_error', 'not_found_error'],
  410: ['api_error', 'api_error'],
}

interface ExpectedError {
  readonly httpStatus: 401 | 404 | 410
  readonly code: string
  readonly family: Endpoint['family']
}

/** Holds an answer to an error: its status, the whole of its envelope, and its headers. */
function expectError(answer: Answer, { httpStatus, code, family }: ExpectedError): void {
  const { headers, text } = answer
  const [openAiType, messagesType] = TYPES[httpStatus] ?? []
  const message = expect.stringMatching(/^\S.*\S$/)
  const requestId = headers['x-request-id']
  expect(answer.httpStatus, text).toBe(httpStatus)
  expect(JSON.parse(text)).toEqual(
    family === 'messages'
      ? { type: 'error', error: { type: messagesType, message }, request_id: requestId }
      : { error: { message, type: openAiType, code, param: null } },
  )
  expect(headers['content-type']).toBe('application/json')
  expect(requestId).toMatch(/^req_[0-9a-z]{26}$/)
  expect(headers['request-id']).toBe(family === 'messages' ? requestId : undefined)
  expect(headers['x-service-cost']).toBeUndefined()
}

function expectSuccess({ httpStatus, headers, text }: Answer, { method }: Endpoint): void {
  expect(httpStatus, text).toBe(200)
  expect(headers['content-type']).toMatch(/^application\/json/)
  expect(headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
  expect(headers['x-service-cost'] === undefined).toBe(method !== 'POST')
  JSON.parse(text)
}

describe.each(ENDPOINTS)('$method $path', (endpoint) => {
  const { method, path, body, family, access } = endpoint

  test.each(CREDENTIAL_NAMES)('answers according to its access, with %s', async (credential) => {
    const answer = await ask({ method, path, body, credential })
    const code = CREDENTIALS[credential]
    switch (access) {
      case 'none':
        expectSuccess(answer, endpoint)
        return
      case 'required':
        if (code === null) expectSuccess(answer, endpoint)
        else expectError(answer, { httpStatus: 401, code, family })
        return
      case 'retired':
        expectError(answer, { httpStatus: 410, code: 'endpoint_retired', family })
        return
      case 'absent':
        expectError(answer, { httpStatus: 404, code: 'not_found', family })
    }
  })

  test.each(['no key', 'a good key'] as const)(
    'has no other method, with %s',
    async (credential) => {
      const known = ENDPOINTS.filter((other) => other.path === path && other.access !== 'absent')
      for (const other of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
        if (known.some((endpointThere) => endpointThere.method === other)) continue
        const answer = await ask({ method: other, path, credential })
        expectError(answer, { httpStatus: 404, code: 'not_found', family })
      }
    },
  )

  const hasPathsBelow = ['/v1', '/v1/', '/v1/models'].includes(path)
  test.each(hasPathsBelow ? [] : [path])('has no other path below %s or above /v1', async () => {
    const credential = 'a good key'
    const below = `${path}/nothing/there`
    const found = await ask({ method, path: below, body, credential })
    // Below a model's path, everything is the id of a model.
    if (path.startsWith('/v1/models/')) expect(found.httpStatus).toBe(404)
    else expectError(found, { httpStatus: 404, code: 'not_found', family })
    if (!path.startsWith('/v1/')) return
    const doubled = await ask({ method, path: `/v1${path}`, body, credential })
    expectError(doubled, { httpStatus: 404, code: 'not_found', family })
  })
})

test('the bare address redirects GET to the reference, and answers other methods with 404', async () => {
  const { httpStatus, headers } = await ask({ method: 'GET', path: '/', credential: 'no key' })
  expect([httpStatus, headers['location']]).toEqual([302, '/docs'])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const answer = await ask({ method, path: '/', credential: 'a good key' })
    expectError(answer, { httpStatus: 404, code: 'not_found', family: 'openai' })
  }
})

test('only the 404 of a model has no request ID', async () => {
  for (const path of ['/v1/models/none', '/v1/models/a/b/c']) {
    const { httpStatus, headers, text } = await ask({ method: 'GET', path, credential: 'no key' })
    expect(httpStatus).toBe(404)
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'model_not_found', param: null } })
    expect(headers['x-request-id']).toBeUndefined()
    expect(headers['content-type']).toBe('application/json')
  }
})

test('Activity has the requests that ran, and no refused requests or reads', async () => {
  await world.gateway.settled()
  const { requests } = await listRequests(world.gateway.store.db, { limit: 1_000 })
  const ran = ENDPOINTS.filter(({ method, access }) => method === 'POST' && access === 'required')
  expect(requests.length).toBe(ran.length * 2)
  expect(await world.audit()).toMatchObject({ ok: true })
})
