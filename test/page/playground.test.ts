import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, worldOfEach } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

/** The Playground's route: the journey of `/v1/chat/completions`, by a session. */

const SECRET = 'the quiet heron'
const CHAT = { model: 'sim/text', messages: [{ role: 'user', content: SECRET }], max_tokens: 50 }

let account: TestAccount
let operator: Browser
let member: Browser

const world = worldOfEach()
beforeEach(async () => {
  account = await world.account()
  operator = await setUpOperator(world)
  member = await guest('member@example.org', account)
})

const guest = (email: string, { id: accountId }: TestAccount) =>
  inviteGuest(world, { email, accountId, role: 'member' })
const pathOf = ({ id }: TestAccount) => `accounts/${id}/playground/chat`

/** The Playground's key, as the page shows it. */
async function playgroundKey(): Promise<Record<string, unknown>> {
  const { json } = await member.get(`accounts/${account.id}/keys`)
  const [key, ...more] = Object(json['data']).filter(
    ({ name }: { name: string }) => name === 'Playground',
  )
  expect(more).toEqual([])
  return key
}

async function requestOf(requestId: string | null): Promise<Record<string, unknown>> {
  await world.gateway.settled()
  return (await member.get(`accounts/${account.id}/requests/${requestId}`)).json
}

/** Sends a call with an API key, to compare its answer with. */
function byKey(body: object): Promise<Response> {
  return world.send(account.apiKey, body)
}

/** A stream, once its first bytes are there. */
function open(signal: AbortSignal): Promise<Response> {
  return fetch(world.url(`/app/api/${pathOf(account)}`), {
    method: 'POST',
    signal,
    headers: {
      origin: new URL(world.url('/')).origin,
      'content-type': 'application/json',
      cookie: [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    },
    body: JSON.stringify({ ...CHAT, stream: true }),
  })
}

/** An answer without what differs from one request to the next. */
function comparable(text: string): string {
  return text.replace(/"(?:id|created|created_at|completed_at)":(?:"[^"]*"|\d+)/g, '')
}

describe('an answer', () => {
  test.each([
    ['whole', CHAT],
    ['streamed', { ...CHAT, stream: true }],
  ])('that is %s equals the answer to a key, with the ID of its request', async (_, body) => {
    const answer = await member.post(pathOf(account), body)
    const other = await byKey(body)
    expect(answer.httpStatus).toBe(200)
    expect(comparable(answer.text)).toBe(comparable(await other.text()))
    for (const name of ['content-type', 'x-service-cost']) {
      expect(answer.headers.get(name)).toBe(other.headers.get(name))
    }
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { id: keyId } = await playgroundKey()
    const request = await requestOf(answer.headers.get('x-request-id'))
    expect(request).toMatchObject({ key_id: keyId, endpoint: 'chat', error_code: null })
    expect(request['charge']).toBeGreaterThan(0)
    expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  })

  test('and its prompt are in no store, log or list', async () => {
    await member.post(pathOf(account), CHAT)
    await member.post(pathOf(account), { ...CHAT, stream: true })
    await world.gateway.settled()
    expect(world.log.join('\n')).not.toContain(SECRET)
    for (const file of readdirSync(world.folder)) {
      expect(readFileSync(join(world.folder, file)).includes(SECRET)).toBe(false)
    }
  })
})

test.each([
  ['messages', { messages: CHAT.messages, max_tokens: 50 }, '/v1/messages'],
  ['responses', { input: SECRET, max_output_tokens: 50 }, '/v1/responses'],
])('an answer in %s equals the answer to a key', async (format, fields, path) => {
  const body = { model: 'sim/text', ...fields }
  const answer = await member.post(`accounts/${account.id}/playground/${format}`, body)
  const other = await world.send(account.apiKey, body, path)
  expect(comparable(answer.text)).toBe(comparable(await other.text()))
  const request = await requestOf(answer.headers.get('x-request-id'))
  expect(request).toMatchObject({ endpoint: format, error_code: null })
  const unknown = { ...body, model: 'sim/none' }
  const refused = await member.post(`accounts/${account.id}/playground/${format}`, unknown)
  expect(errorOf(refused)).toEqual({ httpStatus: 404, code: 'model_not_found', param: 'model' })
})

describe('access', () => {
  test('is open to a member and to an operator of another account, and a stranger gets a 404', async () => {
    const stranger = await guest('stranger@example.org', await world.account())
    const asOperator = await operator.post(pathOf(account), CHAT)
    expect(asOperator.httpStatus).toBe(200)
    const { json } = await operator.get(`operator/actions?account=${account.id}`)
    expect(json['data']).toMatchObject([
      { action: 'playground', target_id: asOperator.headers.get('x-request-id') },
    ])
    const refused = await stranger.post(pathOf(account), CHAT)
    const unknown = await stranger.post('accounts/acct_unknown/playground/chat', CHAT)
    expect(errorOf(refused)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
    expect(errorOf(unknown)).toEqual(errorOf(refused))
  })

  test('is refused to a visitor without a session, even with an API key', async () => {
    const origin = new URL(world.url('/')).origin
    const answer = await fetch(world.url(`/app/api/${pathOf(account)}`), {
      method: 'POST',
      headers: {
        origin,
        'content-type': 'application/json',
        authorization: `Bearer ${account.apiKey}`,
      },
      body: JSON.stringify(CHAT),
    })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: { code: 'not_signed_in' } })
  })

  test('is refused to other sites and to forms', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { 'content-type': 'text/plain' }]) {
      const answer = await member.call('POST', pathOf(account), { body: CHAT, headers })
      expect(errorOf(answer)).toEqual({ httpStatus: 403, code: 'foreign_origin', param: null })
    }
    expect(world.simulator.requests.filter(({ isInference }) => isInference)).toEqual([])
  })
})

describe('its key', () => {
  test('is created once at the first use, with a limit and without a secret', async () => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => member.post(pathOf(account), CHAT)),
    )
    expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200, 200, 200])
    expect(await playgroundKey()).toMatchObject({ credit_limit: 5_000_000, prefix: '' })
  })

  test("can't be used with any secret, not even the store's value in place of its hash", async () => {
    await member.post(pathOf(account), CHAT)
    const rows = await world.gateway.store.db
      .selectFrom('api_keys')
      .select(['id', 'key_hash'])
      .where('name', '=', 'Playground')
      .execute()
    expect(rows).toHaveLength(1)
    for (const { id, key_hash: hash } of rows) {
      // No SHA-256 is like this, so that the hash of no text is equal to it.
      expect(hash).not.toMatch(/^[0-9a-f]{64}$/)
      for (const text of [hash, id, `sk-tollgate-${hash}`, `sk-tollgate-${id}`, '', 'Playground']) {
        const answer = await fetch(world.url('/v1/key'), { headers: { 'x-api-key': text } })
        expect(answer.status).toBe(401)
      }
    }
  })

  test('refuses above its limit, which is changed like the limit of any key', async () => {
    await member.post(pathOf(account), CHAT)
    const { id } = await playgroundKey()
    const key = `accounts/${account.id}/keys/${id}`
    await member.call('PATCH', key, { body: { credit_limit: 1 } })
    const refused = await member.post(pathOf(account), CHAT)
    expect(errorOf(refused)).toMatchObject({ httpStatus: 402, code: 'key_limit_reached' })
    await member.call('PATCH', key, { body: { credit_limit: null } })
    expect((await member.post(pathOf(account), CHAT)).httpStatus).toBe(200)
  })

  test('refuses while it is disabled, and is created again after it was deleted', async () => {
    await member.post(pathOf(account), CHAT)
    const { id } = await playgroundKey()
    const key = `accounts/${account.id}/keys/${id}`
    await member.call('PATCH', key, { body: { disabled: true } })
    const refused = await member.post(pathOf(account), CHAT)
    expect(errorOf(refused)).toMatchObject({ httpStatus: 401, code: 'api_key_disabled' })
    await member.call('DELETE', key)
    expect((await member.post(pathOf(account), CHAT)).httpStatus).toBe(200)
    expect((await playgroundKey())['id']).not.toBe(id)
    expect(await playgroundKey()).toMatchObject({ credit_limit: 5_000_000, disabled: false })
  })

  test('has eight places in flight, separate from other keys', async () => {
    world.simulator.script({ hold: { afterEvents: 2 }, times: 8 })
    const leaving = new AbortController()
    const streams = await Promise.all(Array.from({ length: 8 }, () => open(leaving.signal)))
    const refused = await member.post(pathOf(account), CHAT)
    expect(errorOf(refused)).toMatchObject({
      httpStatus: 429,
      code: 'too_many_concurrent_requests',
    })
    expect((await byKey(CHAT)).status).toBe(200)
    leaving.abort()
    await Promise.allSettled(streams.map((stream) => stream.text()))
    await world.gateway.settled()
    expect((await member.post(pathOf(account), CHAT)).httpStatus).toBe(200)
  })
})

test('an account without credit is refused with the needed credit, and nothing is sent', async () => {
  const poor = await world.account({ creditMicros: 0 })
  const browser = await guest('poor@example.org', poor)
  const refused = await browser.post(pathOf(poor), CHAT)
  expect(errorOf(refused)).toMatchObject({ httpStatus: 402, code: 'insufficient_credit' })
  expect(refused.headers.get('x-request-id')).toMatch(/^req_/)
  expect(world.simulator.requests.filter(({ isInference }) => isInference)).toEqual([])
})

test.each([
  ['{', 400, 'invalid_json'],
  ['{"model":"sim/none","messages":[]}', 404, 'model_not_found'],
  ['{"model":"sim/text","messages":1}', 400, 'invalid_parameter'],
])('the body %s is refused in the envelope of the page', async (body, httpStatus, code) => {
  const answer = await member.call('POST', pathOf(account), { body })
  expect(errorOf(answer)).toMatchObject({ httpStatus, code })
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

test('a browser that leaves a stream is charged for the received part, and the provider stops', async () => {
  world.simulator.script({ hold: { afterEvents: 4 } })
  const leaving = new AbortController()
  const stream = await open(leaving.signal)
  const upstream = await world.simulator.nextRequest()
  let text = ''
  await expect(async () => {
    for await (const bytes of stream.body ?? []) {
      text += Buffer.from(bytes).toString()
      if (text.split('data:').length > 2) leaving.abort()
    }
  }).rejects.toThrow('aborted')
  expect(await upstream.ended).toBe('clientGone')
  const request = await requestOf(stream.headers.get('x-request-id'))
  expect(request).toMatchObject({ state: 'provisional', error_code: 'client_gone' })
  expect(request['charge']).toBeGreaterThan(0)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})
