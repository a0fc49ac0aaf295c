import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { errorOf, Management, refusal, textOf } from './management.ts'
import { objectAt } from './openapi-reading.ts'

/** How far the gateway's clock is ahead. */
let aheadMs = 0

const admin = Management.ofFile(() => ({
  mode: 'simulator',
  clock: { nowMs: () => Date.now() + aheadMs },
  settings: { TOLLGATE_NAME: 'Corner <& Sons>' },
}))
const buy = (apiKey: string, body: object = { method: 'card', amount: 25_000_000 }) =>
  admin.call({ method: 'POST', path: '/v1/credit/purchases', body, token: apiKey })

/** The path of the page that a purchase is paid on. */
async function begin(apiKey: string): Promise<string> {
  const { httpStatus, json } = await buy(apiKey)
  expect(httpStatus).toBe(201)
  return new URL(textOf(json, 'url')).pathname
}

/** Opens a page of play money, or presses its button. */
async function page(method: 'GET' | 'POST', path: string, origin: string | null = ownOrigin()) {
  const answer = await request(admin.world.url(path), {
    method,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(origin === null ? {} : { origin }),
    },
  })
  return { httpStatus: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

function ownOrigin(): string {
  return new URL(admin.world.url('/')).origin
}

const balance = async (accountId: string): Promise<unknown> =>
  objectAt((await admin.get(`/v1/admin/accounts/${accountId}`)).json, 'credit', 'backed')['balance']

describe('a gateway that sells credit', () => {
  test('offers it to anyone, with or without a key', async () => {
    for (const token of [null, 'sk-tollgate-wrong']) {
      expect(await admin.get('/v1/credit', token)).toMatchObject({
        httpStatus: 200,
        json: {
          object: 'credit_sale',
          methods: [
            {
              id: 'card',
              kind: 'card',
              currency: 'usd',
              minimum: 5_000_000,
              maximum: 500_000_000,
              fee_bps: 0,
              available: true,
            },
          ],
        },
      })
    }
  })

  test('quotes the price of an amount', async () => {
    const quoted = await admin.get('/v1/credit/quote?amount=10000000', null)
    expect([quoted.httpStatus, quoted.json]).toEqual([
      200,
      {
        object: 'credit_quote',
        method: 'card',
        credit: 10_000_000,
        pay: { currency: 'usd', amount: '10.00', units: '1000' },
        rate: '1',
        fee_bps: 0,
        as_of: expect.any(String),
        binding: false,
      },
    ])
    const named = await admin.get('/v1/credit/quote?amount=5010000&method=card', null)
    expect(named.json).toMatchObject({ pay: { amount: '5.01', units: '501' } })
  })

  test.each([
    ['', 'amount'],
    ['amount=', 'amount'],
    ['amount=10000000&amount=10000000', 'amount'],
    ['amount=1e7', 'amount'],
    ['amount=10000000.5', 'amount'],
    ['amount=0x10', 'amount'],
    ['amount=0', 'amount'],
    ['amount=-10000000', 'amount'],
    ['amount=4990000', 'amount'],
    ['amount=500010000', 'amount'],
    ['amount=9007199254740993', 'amount'],
    ['amount=99999999999999999999', 'amount'],
    ['amount=10000001', 'amount'],
    ['amount=10000000&method=', 'method'],
    ['amount=10000000&method=card&method=card', 'method'],
    ['amount=10000000&currency=eur', 'currency'],
  ])('refuses to quote ?%s', async (query, param) => {
    const answer = await admin.get(`/v1/credit/quote?${query}`, null)
    expect(answer).toEqual(refusal(400, 'invalid_parameter', param))
  })

  test.each([
    [{ method: 'card' }, 'amount'],
    [{ method: 'card', amount: '25000000' }, 'amount'],
    [{ method: 'card', amount: 25_000_000.5 }, 'amount'],
    [{ method: 'card', amount: 0 }, 'amount'],
    [{ method: 'card', amount: -25_000_000 }, 'amount'],
    [{ method: 'card', amount: 4_990_000 }, 'amount'],
    [{ method: 'card', amount: 500_010_000 }, 'amount'],
    [{ method: 'card', amount: 2 ** 53 }, 'amount'],
    [{ method: 'card', amount: 25_000_001 }, 'amount'],
    [{ amount: 25_000_000 }, 'method'],
    [{ method: '', amount: 25_000_000 }, 'method'],
    [{ method: 'card', amount: 25_000_000, currency: 'eur' }, 'currency'],
  ])('refuses to start %o', async (body, param) => {
    const { apiKey } = await admin.buyer()
    expect(await buy(apiKey, body)).toEqual(refusal(400, 'invalid_parameter', param))
    expect((await admin.get('/v1/credit/purchases', apiKey)).json).toMatchObject({ pending: [] })
  })

  test('without a method, names the path that lists the methods', async () => {
    const { apiKey } = await admin.buyer()
    expect((await buy(apiKey, { amount: 25_000_000 })).json).toMatchObject({
      error: { message: '`method` is required: an `id` of `GET /v1/credit`.' },
    })
  })

  test('has no parameters in its list of methods, and refuses unknown ones', async () => {
    expect(await admin.get('/v1/credit?currency=eur', null)).toEqual(
      refusal(400, 'invalid_parameter', 'currency'),
    )
  })

  test('refuses any other method', async () => {
    const quoted = await admin.get('/v1/credit/quote?amount=10000000&method=cash', null)
    expect(quoted).toEqual(refusal(404, 'not_found', 'method'))
    const { apiKey } = await admin.buyer()
    const begun = await buy(apiKey, { method: 'cash', amount: 25_000_000 })
    expect(begun).toEqual(refusal(404, 'not_found', 'method'))
  })

  test('starts no purchase without a key', async () => {
    const answer = await admin.call({
      method: 'POST',
      path: '/v1/credit/purchases',
      body: { method: 'card', amount: 25_000_000 },
      token: null,
    })
    expect(answer).toEqual(refusal(401, 'missing_api_key'))
  })
})

test('a payment of play money becomes credit immediately and once', async () => {
  const { accountId, apiKey } = await admin.buyer()
  expect((await admin.chat(apiKey)).json).toEqual(errorOf('insufficient_credit'))
  const begun = await buy(apiKey)
  expect(begun).toMatchObject({
    httpStatus: 201,
    json: {
      purchase: { state: 'open', credit: 25_000_000, paid: null, credited_at: null },
      url: expect.stringMatching(/\/play\/checkout\/pur_[0-9a-z]{26}\?account=acct_[0-9a-z]{26}$/),
      expires_at: expect.any(String),
    },
  })
  // The system has chosen the port, and the page is on it.
  expect(new URL(textOf(begun.json, 'url')).port).toBe(new URL(admin.world.url('/')).port)
  const id = textOf(objectAt(begun.json, 'purchase'), 'id')
  const path = new URL(textOf(begun.json, 'url')).pathname
  expect((await admin.get('/v1/credit/purchases', apiKey)).json).toMatchObject({
    data: [],
    pending: [{ id, state: 'open' }],
  })
  const opened = await page('GET', path)
  expect(opened.text).toContain('Pay $25.00')
  expect(opened.headers['content-security-policy']).toContain("default-src 'none'")
  expect(await balance(accountId)).toBe(0)

  const paid = await Promise.all(Array.from({ length: 20 }, () => page('POST', path)))
  for (const { text } of paid) expect(text).toContain('Paid')
  expect(await balance(accountId)).toBe(25_000_000)
  expect((await admin.get('/v1/credit/purchases', apiKey)).json).toMatchObject({
    data: [{ kind: 'purchase', amount: 25_000_000, reference: id }],
    pending: [],
  })
  expect((await admin.chat(apiKey)).httpStatus).toBe(200)
  expect((await page('GET', path)).text).toContain('Paid')
})

test('an account has at most five open payments until one is paid or expires', async () => {
  const { apiKey } = await admin.buyer()
  const answers = await Promise.all(Array.from({ length: 12 }, () => buy(apiKey)))
  const statuses = answers.map(({ httpStatus }) => httpStatus).sort()
  expect(statuses).toEqual([...new Array(5).fill(201), ...new Array(7).fill(429)])
  for (const { httpStatus, json, headers } of answers) {
    if (httpStatus === 201) continue
    expect(json).toEqual(errorOf('rate_limited'))
    expect(Number(headers['retry-after'])).toBeGreaterThan(1_700)
  }
  expect((await buy((await admin.buyer()).apiKey)).httpStatus).toBe(201)
  const open = answers.find(({ httpStatus }) => httpStatus === 201)
  await page('POST', new URL(textOf(open?.json ?? {}, 'url')).pathname)
  expect((await buy(apiKey)).httpStatus).toBe(201)
  expect((await buy(apiKey)).httpStatus).toBe(429)
})

test('a page is paid only with its own button, not with a form of another site', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const path = await begin(apiKey)
  for (const origin of ['https://evil.example', 'null', `${ownOrigin()}.evil.example`, null]) {
    const refused = await page('POST', path, origin)
    expect(refused.httpStatus).toBe(403)
    expect(refused.text).toContain('foreign_origin')
  }
  expect(await balance(accountId)).toBe(0)
  // A browser sends the origin with the form only where the page lets it.
  expect((await page('GET', path, null)).headers['referrer-policy']).toBe('same-origin')
  const paid = (await page('POST', path)).text
  expect(paid).toContain('Paid')
  expect(paid).toContain('>Back to Corner &lt;&amp; Sons&gt;</a>')
  expect(await balance(accountId)).toBe(25_000_000)
})

test('an expired payment page is never paid', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const path = await begin(apiKey)
  aheadMs += 31 * 60_000
  expect((await page('POST', path)).text).toContain('Expired')
  aheadMs -= 31 * 60_000
  expect((await page('POST', path)).text).toContain('Expired')
  expect(await balance(accountId)).toBe(0)
  for (const unknown of ['/play/checkout/pur_0', '/play/checkout/%00', "/play/checkout/'"]) {
    expect((await page('POST', unknown)).httpStatus).toBe(404)
  }
})

test('a gateway with a real provider sells no credit with play money', async () => {
  const live = await Management.start()
  const { text } = await live.apiKey(await live.account())
  for (const [method, path] of [
    ['GET', '/v1/credit'],
    ['GET', '/v1/credit/quote?amount=10000000'],
    ['POST', '/v1/credit/purchases'],
    ['GET', '/play/checkout/pur_0'],
    ['POST', '/play/checkout/pur_0'],
  ] as const) {
    const body = method === 'POST' ? { method: 'card', amount: 25_000_000 } : undefined
    const answer = await live.call({ method, path, token: text, ...(body && { body }) })
    expect(answer, path).toEqual(refusal(404, 'not_found'))
  }
  // Earlier purchases are still listed.
  expect(await live.get('/v1/credit/purchases', text)).toMatchObject({
    httpStatus: 200,
    json: { data: [], pending: [] },
  })
  await live.close()
})
