import { request } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import type { TestAccount } from '../world.ts'
import { type Answer, Bench } from './bench.ts'
import { expectError } from './expect-error.ts'
import type { FormatRow } from './format-row.ts'
import { at, jsonOf, textAt } from './json-reading.ts'
import { ROWS, VENDOR } from './rows.ts'

const ADMIN_TOKEN = 'a-token-for-tests-alone'

const bench = Bench.ofFile({ settings: { ADMIN_API_TOKEN: ADMIN_TOKEN } })
afterAll(() => bench.expectExactLedger())

/** A payer with these lists on the account and on its key. */
async function payer(lists: { account?: object; key?: object }): Promise<TestAccount> {
  const made = await bench.payer()
  await setLists(made, lists)
  return made
}

async function setLists(
  { id }: TestAccount,
  lists: { account?: object | null; key?: object | null },
) {
  const keys = await admin('GET', `/v1/admin/accounts/${id}/keys`)
  const keyId = textAt(keys, 'data', 0, 'id')
  const { account, key } = lists
  if (account !== undefined) await admin('PATCH', `/v1/admin/accounts/${id}`, { models: account })
  if (key !== undefined) await admin('PATCH', `/v1/admin/keys/${keyId}`, { models: key })
}

async function admin(method: 'GET' | 'PATCH', path: string, body?: object) {
  const answer = await request(bench.world.url(path), {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  expect(answer.statusCode, text).toBe(200)
  return jsonOf(text)
}

/** Checks that an answer is a refusal without a hold, a call upstream or a row in Activity. */
async function expectNotAllowed(
  row: FormatRow,
  { answer, forwarded }: { readonly answer: Answer; readonly forwarded: number },
) {
  const message = expect.stringContaining(`"${row.body.model}"`)
  expectError(
    { bench, row, answer },
    { httpStatus: 403, code: 'model_not_allowed', param: 'model', message },
  )
  expect(bench.forwardedCount).toBe(forwarded)
  expect(await bench.activity(answer)).toBeNull()
}

describe.each(ROWS)('$endpoint', (row) => {
  const { model } = row.body
  const [author = ''] = model.split('/')

  test.each([
    ['the key denies it', { key: { deny: [model] } }],
    ['the key denies its author', { key: { deny: [`${author}/*`] } }],
    ['the key denies it in capital letters', { key: { deny: [model.toUpperCase()] } }],
    ['the key allows others', { key: { allow: ['acme/other', 'acme/*'] } }],
    ['the key allows and denies it', { key: { allow: [model], deny: [model] } }],
    ['the key allows it and denies its author', { key: { allow: [model], deny: [`${author}/*`] } }],
    ['the account denies it', { account: { deny: [model] } }],
    ['the account allows others', { account: { allow: [`${author}x/*`] } }],
    [
      'the key allows it, the account does not',
      { key: { allow: [model] }, account: { deny: [model] } },
    ],
    [
      'the account allows it, the key does not',
      { account: { allow: [model] }, key: { deny: [model] } },
    ],
  ])('where %s, no name of the model runs it', async (_why, lists) => {
    const { apiKey } = await payer(lists)
    for (const name of [model, model.toUpperCase(), `${model}[1m]`, `${model.toUpperCase()}[1m]`]) {
      const forwarded = bench.forwardedCount
      const answer = await bench.send(row, { apiKey, body: { ...row.body, model: name } })
      await expectNotAllowed(row, { answer, forwarded })
    }
  })

  test.each([
    ['both allow it', { key: { allow: [model] }, account: { allow: [`${author}/*`] } }],
    ['others are denied', { key: { deny: ['acme/*'] }, account: { deny: [`${model}x`] } }],
    ['the lists are empty', { key: { allow: [], deny: [] }, account: {} }],
  ])('if %s, it runs', async (_why, lists) => {
    const { apiKey } = await payer(lists)
    const answer = await bench.send(row, { apiKey })
    expect(answer.httpStatus, answer.text).toBe(200)
  })

  test('a change of the lists counts from the next request on', async () => {
    const account = await payer({})
    const send = async () => (await bench.send(row, { apiKey: account.apiKey })).httpStatus
    expect(await send()).toBe(200)
    await setLists(account, { key: { deny: [model] } })
    expect(await send()).toBe(403)
    await setLists(account, { key: null, account: { allow: ['acme/other'] } })
    expect(await send()).toBe(403)
    await setLists(account, { account: null })
    expect(await send()).toBe(200)
  })

  test.each(row.streams === null ? [] : ['a stream'])(
    '%s is refused as a whole answer is',
    async () => {
      const { apiKey } = await payer({ key: { deny: [model] } })
      const forwarded = bench.forwardedCount
      const answer = await bench.send(row, { apiKey, stream: true })
      await expectNotAllowed(row, { answer, forwarded })
    },
  )

  test("lists it under the models that it answers, and each refusal names the model's endpoint", async () => {
    const { apiKey } = await payer({})
    const models = await served()
    expect(models.length).toBeGreaterThan(1)
    for (const { id, endpoints } of models) {
      const answer = await bench.send(row, { apiKey, body: { ...row.body, model: id } })
      const isRefused = at(answer.json ?? null, 'error', 'message')
      const words = typeof isRefused === 'string' ? isRefused : ''
      expect([id, /can't be called at|bills per search/.test(words)]).toEqual([
        id,
        !endpoints.includes(row.endpoint),
      ])
      const paths = ROWS.filter(({ endpoint }) => endpoints.includes(endpoint))
      if (endpoints.includes(row.endpoint)) continue
      for (const { path } of paths) expect(words).toContain(`POST ${path}`)
    }
  })

  test('a model that is in no catalog stays a 404, and a wrong key a 401', async () => {
    const { apiKey } = await payer({ key: { deny: [model] } })
    const unknown = await bench.send(row, { apiKey, body: { ...row.body, model: 'acme/none' } })
    expect(unknown.httpStatus).toBe(404)
    expect((await bench.send(row, { apiKey: 'sk-tollgate-wrong' })).httpStatus).toBe(401)
  })
})

/** Each model with the formats that it is listed under. */
async function served(): Promise<readonly { readonly id: string; readonly endpoints: string[] }[]> {
  const data = at((await list({})).json, 'data')
  return (Array.isArray(data) ? data : []).map((model) => {
    const endpoints = at(model, 'endpoints')
    return {
      id: textAt(model, 'id'),
      endpoints: Array.isArray(endpoints) ? endpoints.map(String) : [],
    }
  })
}

async function list(headers: Record<string, string>, path = '/v1/models') {
  const answer = await request(bench.world.url(path), { headers })
  const json = jsonOf(await answer.body.text())
  const data = at(json, 'data')
  const ids = Array.isArray(data) ? data.map((model) => textAt(model, 'id')) : []
  return { httpStatus: answer.statusCode, headers: answer.headers, ids, json }
}

describe('GET /v1/models', () => {
  const own = ROWS[0]?.body.model ?? ''

  test('lists the models of a valid key, sent in either header', async () => {
    const { ids: all } = await list({})
    const { apiKey } = await payer({ key: { allow: [own, 'acme/none'] } })
    for (const headers of [{ authorization: `Bearer ${apiKey}` }, { 'x-api-key': apiKey }]) {
      const { httpStatus, ids, headers: answered } = await list(headers)
      expect([httpStatus, ids]).toEqual([200, [own]])
      expect(answered).toMatchObject({
        'cache-control': 'private, no-cache',
        vary: 'authorization, x-api-key',
      })
    }
    const denying = await payer({ key: { deny: [own] } })
    const { ids } = await list({ 'x-api-key': denying.apiKey })
    expect(ids).toEqual(all.filter((id) => id !== own))
    expect(all.length).toBeGreaterThan(1)
  })

  test('lists all without a key, with a wrong one, and with one that has no lists', async () => {
    const { ids: all, headers: answered } = await list({})
    expect(answered).toMatchObject({
      'cache-control': 'no-cache',
      vary: 'authorization, x-api-key',
    })
    const { apiKey } = await payer({})
    for (const key of ['', 'x', 'sk-tollgate-wrong', ADMIN_TOKEN, apiKey]) {
      const { httpStatus, ids } = await list({ authorization: `Bearer ${key}` })
      expect([httpStatus, ids]).toEqual([200, all])
    }
  })

  test('lists nothing if no model is left, and all models of a disabled key', async () => {
    const account = await payer({ key: { allow: [own] }, account: { deny: [own] } })
    const headers = { 'x-api-key': account.apiKey }
    expect((await list(headers)).json).toMatchObject({ object: 'list', data: [], total_count: 0 })
    await admin('PATCH', `/v1/admin/accounts/${account.id}`, { disabled: true })
    expect((await list(headers)).ids).toEqual((await list({})).ids)
    await admin('PATCH', `/v1/admin/accounts/${account.id}`, { disabled: false })
  })

  test('a tag of the whole list is not one of a part of it', async () => {
    const { headers: whole } = await list({})
    const account = await payer({ key: { allow: [own] } })
    const headers = { 'x-api-key': account.apiKey, 'if-none-match': String(whole['etag']) }
    const part = await list(headers)
    expect([part.httpStatus, part.ids]).toEqual([200, [own]])
    const etag = String(part.headers['etag'])
    expect((await list({ ...headers, 'if-none-match': etag })).httpStatus).toBe(304)
    await setLists(account, { key: { deny: [own] } })
    expect((await list({ ...headers, 'if-none-match': etag })).httpStatus).toBe(200)
  })

  test('a name that no model has is refused with a near model only if the key may use it, in an answer that no cache keeps', async () => {
    const [first] = ROWS
    if (first === undefined) throw new TypeError('the contract has rows')
    const slip = `${own}x`
    for (const [models, isNamed] of [
      [{ allow: [own] }, true],
      [{ deny: [own] }, false],
    ] as const) {
      const { apiKey } = await payer({ key: models })
      const headers = { 'x-api-key': apiKey }
      const unknown = await list(headers, `/v1/models/${slip}`)
      expect(unknown).toMatchObject({ httpStatus: 404, headers: { 'cache-control': 'no-store' } })
      const { text } = await bench.send(first, { apiKey, body: { ...first.body, model: slip } })
      for (const message of [JSON.stringify(unknown.json), text]) {
        expect(message.includes(`Did you mean \\"${own}\\"`)).toBe(isNamed)
      }
    }
  })

  test('one model that the key may not use is a 403 by any of its names', async () => {
    const { apiKey } = await payer({ key: { deny: [own] } })
    for (const name of [own, own.toUpperCase(), `${own}[1m]`]) {
      const refused = await list({ 'x-api-key': apiKey }, `/v1/models/${name}`)
      expect(refused.httpStatus).toBe(403)
      expect(refused.json).toMatchObject({ error: { code: 'model_not_allowed', param: 'model' } })
      expect(refused.headers['x-request-id']).toMatch(/^req_/)
      expect((await list({}, `/v1/models/${name}`)).httpStatus).toBe(200)
    }
  })
})

// Other vendors list no other names.
const withNames = VENDOR === undefined ? ROWS.filter(({ endpoint }) => endpoint === 'chat') : []
test.each(withNames)('neither a permanent name nor an alias gets round a denial', async (row) => {
  const { apiKey } = await payer({ key: { deny: ['sim/dated'] } })
  for (const model of [
    'sim/dated',
    'sim/dated-2026-09-01',
    '~sim/dated-latest',
    '~SIM/dated-latest[1m]',
  ]) {
    const forwarded = bench.forwardedCount
    const answer = await bench.send(row, { apiKey, body: { ...row.body, model } })
    await expectNotAllowed(
      { ...row, body: { ...row.body, model: 'sim/dated' } },
      { answer, forwarded },
    )
  }
})
