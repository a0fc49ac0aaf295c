import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, expect, test } from 'vitest'
import { startWorld } from '../world.ts'
import { Management, textOf } from './management.ts'

let apiKey: string

const management = Management.ofFile()
beforeAll(async () => {
  apiKey = (await management.apiKey(await management.account(1_000_000))).text
})

async function messageOf(...[call]: Parameters<Management['call']>): Promise<string> {
  const { json } = await management.call(call)
  return textOf(Object(json['error']), 'message')
}

/** The one 404 that has no request id, as models are asked for without a key. */
async function messageOfModel(name: string): Promise<string> {
  const answer = await fetch(management.world.url(`/v1/models/${name}`))
  const json: { readonly error: { readonly message: string } } = JSON.parse(await answer.text())
  return json.error.message
}

test('an ID that no object can have is not found, like any unknown ID', async () => {
  const messages: string[] = []
  for (const id of ['%ff', 'none%', 'none-'.repeat(400), '%e2%82/keys']) {
    messages.push(await messageOf({ method: 'GET', path: `/v1/admin/accounts/${id}` }))
  }
  expect(messages).toEqual([
    'No account has the ID "%ff".',
    'No account has the ID "none%".',
    expect.stringMatching(/^No account has the ID "(none-){20}/),
    'No account has the ID "%e2%82".',
  ])
})

test('a model whose ID is not percent-encoded text is an unknown model, and its 404 has no request ID', async () => {
  for (const name of ['%ff', 'acme/none%', 'acme/%e2%82?x=%ff']) {
    const answer = await fetch(management.world.url(`/v1/models/${name}`))
    expect(answer.status, name).toBe(404)
    expect(answer.headers.get('x-request-id'), name).toBeNull()
    expect(await answer.json()).toMatchObject({ error: { code: 'model_not_found' } })
  }
})

test('a path that no route has is named as it was sent', async () => {
  expect(await messageOf({ method: 'GET', path: '/none/%ff' })).toBe(
    'GET /none/%ff does not exist: /docs lists the endpoints.',
  )
})

function chat(model: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const body = { model, max_tokens: 16, messages }
  return messageOf({ method: 'POST', path: '/v1/chat/completions', body, token: apiKey })
}

test('an unknown model is named by at most 200 characters, without control characters', async () => {
  expect(await chat('acme/none')).toBe(
    'Model "acme/none" is not in the catalog; GET /v1/models lists the models.',
  )
  expect(await chat('acme/\u001b[2Jnone\u202e')).toContain('Model "acme/[2Jnone" is not')
  const long = await chat(`acme/${'none-'.repeat(1_000)}`)
  expect(/"(.*)"/.exec(long)?.[1]).toHaveLength(200)
  expect(await messageOfModel('acme/none')).toContain('"acme/none"')
})

test('the error of a field says whether it is missing, given twice or of the wrong type', async () => {
  const generation = { method: 'GET', token: apiKey } as const
  const account = { method: 'POST', path: '/v1/admin/accounts' } as const
  expect([
    await messageOf({ ...generation, path: '/v1/generation' }),
    await messageOf({ ...generation, path: '/v1/generation?id=a&id=b' }),
    await messageOf({ ...generation, path: '/v1/requests?limit=1&limit=2' }),
    await messageOf({ ...account, body: { name: 'Ada', external_id: 5 } }),
  ]).toEqual([
    '`id` is required.',
    '`id` must be given once.',
    '`limit` must be given once.',
    '`external_id` must be a string.',
  ])
})

test('a key in place of a model is not repeated', async () => {
  const said = [
    await chat(apiKey),
    await messageOfModel(apiKey),
    await messageOf({ method: 'GET', path: `/v1/${apiKey}` }),
    await messageOf({ method: 'GET', path: `/v1/admin/accounts/${apiKey}` }),
    await messageOf({
      method: 'POST',
      path: '/v1/admin/accounts',
      body: { name: 'Ada', [apiKey]: 1 },
    }),
  ]
  expect(said).toEqual([
    'This model is not in the catalog; GET /v1/models lists the models.',
    'This model is not in the catalog; GET /v1/models lists the models.',
    'This path does not exist: /docs lists the endpoints.',
    'No account has this ID.',
    '`…` is not a known field.',
  ])
})

test('the error of an unknown field names a similar known field', async () => {
  const accountId = await management.account(0)
  const { id } = await management.apiKey(accountId)
  const keys = `/v1/admin/accounts/${accountId}/keys`
  const post = (path: string, body: object) => messageOf({ method: 'POST', path, body })
  const get = (path: string) => messageOf({ method: 'GET', path })
  expect([
    await post(keys, { name: 'a', limit: 5 }),
    await post(keys, { name: 'a', creditLimit: 5 }),
    await post(keys, { name: 'a', limits: { in_fligth: 5 } }),
    await post(`/v1/admin/keys/${id}/rotate`, { grace: 5, seconds: 5 }),
    await get('/v1/admin/actions?from=2026-01-01'),
    await post(keys, { name: 'a', colour: 'red', limit: 5, expires: null }),
    await post(keys, { name: 'a', colour: 'red' }),
    await post(keys, { name: 'a', constructor: 1 }),
  ]).toEqual([
    '`limit` is not a known field. Did you mean `credit_limit`?',
    '`creditLimit` is not a known field. Did you mean `credit_limit`?',
    '`limits.in_fligth` is not a known field. Did you mean `limits.in_flight`?',
    '`grace` is not a known field; `seconds` is not a known field. Did you mean `grace_seconds`?',
    '`from` is not a known field. Did you mean `since`?',
    '`colour` is not a known field; `limit` is not a known field; `expires` is not a known field. Did you mean `credit_limit` and `expires_at`?',
    '`colour` is not a known field.',
    '`constructor` is not a known field.',
  ])
})

test('the error says that a number is too large, or that a text is in place of an array', async () => {
  const accountId = await management.account(0)
  const path = `/v1/admin/accounts/${accountId}`
  const scopes = { name: 'shop', scopes: 'read' }
  expect([
    await messageOf({ method: 'PATCH', path, body: { low_balance: 1e308 } }),
    await messageOf({
      method: 'POST',
      path: `${path}/credit`,
      body: { kind: 'backed', amount: -1e308, reference: 'r' },
    }),
    await messageOf({
      method: 'POST',
      path: '/v1/admin/requests/req_1/settle',
      body: { cost: 1e308 },
    }),
    await messageOf({ method: 'POST', path: '/v1/admin/tokens', body: scopes }),
  ]).toEqual([
    '`low_balance` must be at most $100,000,000.',
    '`amount` must be at least -$100,000,000.',
    '`cost` must be a smaller number.',
    '`scopes` must be an array.',
  ])
})

test.each([
  ['POST', '/v1/chat/completion', '/docs lists the endpoints.'],
  ['GET', '/v1/messages/none?secret=1', '/docs lists the endpoints.'],
  ['GET', '/v1/admin/none', '/docs lists the endpoints.'],
  ['POST', '/v1/admin/accounts/acct_x/keys/', '/docs lists the endpoints.'],
  ['GET', '/v1/admin/usage/', '/docs lists the endpoints.'],
  ['GET', '/docs/none', '/docs lists the endpoints.'],
  ['PATCH', '/none', '/docs lists the endpoints.'],
  [
    'POST',
    '/v1/v1/messages',
    'the path has one /v1 too many. Remove one from the base URL of the client.',
  ],
  ['GET', '/v1/v1', 'the path has one /v1 too many. Remove one from the base URL of the client.'],
  ...(
    [
      ['POST', '/chat/completions', '/v1/chat/completions'],
      ['POST', '/messages', '/v1/messages'],
      ['GET', '/models?limit=1', '/v1/models'],
      ['GET', '/models/sim/text', '/v1/models/sim/text'],
      ['GET', '/api/v1/models/Acme/Sage', '/v1/models/Acme/Sage'],
      ['GET', '/requests/req_1', '/v1/requests/req_1'],
      ['POST', '/api/v1/chat/completions', '/v1/chat/completions'],
      ['POST', '//v1/responses', '/v1/responses'],
      ['POST', '/v1/chat/completions/chat/completions', '/v1/chat/completions'],
      ['POST', '/v1/chat/completions/v1/chat/completions', '/v1/chat/completions'],
      ['POST', '/v1/responses/responses', '/v1/responses'],
      ['POST', '/v1/messages/v1/messages', '/v1/messages'],
      ['POST', '/v1/embeddings/embeddings', '/v1/embeddings'],
      ['POST', '/app/chat/completions', '/v1/chat/completions'],
      ['POST', '/V1/Chat/Completions', '/v1/chat/completions'],
    ] as const
  ).map(
    ([method, path, endpoint]) =>
      [method, path, `the endpoint is ${endpoint}. Correct the base URL of the client.`] as const,
  ),
  ...['generations', 'edits', 'variations'].map(
    (name) =>
      [
        'POST',
        `/v1/images/${name}`,
        'the gateway makes images at /v1/images, in another format: see /docs.',
      ] as const,
  ),
  ['GET', '/v1/responses/resp_1', 'the gateway stores no prompts and no answers.'],
  ['POST', '/v1/responses/resp_1/cancel', 'the gateway stores no prompts and no answers.'],
  ['DELETE', '/v1/chat/completions/gen-1', 'the gateway stores no prompts and no answers.'],
  ...['/v1/chat/completions', '/v1/responses'].map(
    (path) =>
      ['POST', `${path}/`, `the endpoint is ${path}: leave out the slash at the end.`] as const,
  ),
  ...['/v1', '/v1/models', '/v1/key'].map(
    (path) =>
      ['GET', `${path}/`, `the endpoint is ${path}: leave out the slash at the end.`] as const,
  ),
  ['PUT', '/v1/models/?a=1', 'the endpoint is /v1/models: leave out the slash at the end.'],
  ['GET', '/api/v1', 'the endpoint is /v1. Correct the base URL of the client.'],
  ...['/v1/messages/count_tokens', '/v1/responses/input_tokens'].map(
    (path) => ['POST', path, 'tokens are counted in answers only, in their `usage`.'] as const,
  ),
  ['POST', '/v1/conversations', 'the gateway stores no prompts and no answers.'],
  ['GET', '/v1/credit/', 'this gateway does not sell credit.'],
  ['GET', '/v1/credit', 'this gateway does not sell credit.'],
  ['GET', '/v1/credit/quote?amount=1', 'this gateway does not sell credit.'],
  ['POST', '/admin/accounts', '/docs lists the endpoints.'],
  ['POST', `${'/a'.repeat(9)}/chat/completions`, '/docs lists the endpoints.'],
] as const)('the 404 of %s %s names the method and the path', async (method, path, why) => {
  const [shown] = path.split('?')
  expect(await messageOf({ method, path })).toBe(`${method} ${shown} does not exist: ${why}`)
})

test('a path of the disabled admin API names the setting that enables it', async () => {
  const world = await startWorld()
  const answer = await fetch(world.url('/v1/admin/accounts'))
  expect(await answer.text()).toContain(
    'GET /v1/admin/accounts does not exist: the admin API is off. The setting ADMIN_API_TOKEN turns it on.',
  )
  await world.close()
})

test('the error says whether the admin token is wrong or missing', async () => {
  const call = { method: 'GET', path: '/v1/admin/accounts' } as const
  expect(await messageOf({ ...call, token: 'another' })).toBe(
    'The admin token is unknown, expired or revoked.',
  )
  expect(await messageOf({ ...call, token: apiKey })).toMatch(/^This is an API key\./)
  expect(await messageOf({ ...call, token: null })).toBe(
    'Send an admin token as `Authorization: Bearer <token>`.',
  )
})

test('a call that the store failed is in the log with its route and the reason', async () => {
  const blocker = new DatabaseSync(join(management.world.folder, 'store.db'))
  blocker.exec('begin immediate')
  const failed = await management.post('/v1/admin/webhooks', { url: 'https://example.org/' })
  blocker.close()
  expect(failed.httpStatus).toBe(503)
  const line = await management.world.logged(String(failed.headers['x-request-id']))
  expect(JSON.parse(line)).toMatchObject({
    level: 40,
    msg: 'request failed',
    method: 'POST',
    route: '/v1/admin/webhooks',
    httpStatus: 503,
    errorCode: 'service_unavailable',
    cause: { name: 'StoreUnavailable', message: 'database is locked' },
  })
})
