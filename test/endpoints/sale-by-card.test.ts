import { request } from 'undici'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { StripeServer } from '../../src/sale/testing/stripe-server.ts'
import { inviteGuest } from '../page/page-client.ts'
import { column, errorOf, Management, refusal, textOf } from './management.ts'
import { objectAt } from './openapi-reading.ts'

const PATH = '/v1/credit/webhooks/stripe'
const PUBLIC_URL = 'https://gate.example'

let admin: Management
let stripe: StripeServer
let startedMs: number

beforeAll(async () => {
  stripe = await StripeServer.start()
  startedMs = performance.now()
  admin = await Management.start({
    clock: { nowMs: () => stripe.nowMs },
    settings: {
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      STRIPE_BASE_URL: stripe.baseUrl,
      TOLLGATE_PUBLIC_URL: PUBLIC_URL,
      UPSTREAM_BASE_URL: 'https://provider.example/v1',
      UPSTREAM_API_KEY: 'upstream-key',
      TOLLGATE_SALE_MINIMUM: '10',
      TOLLGATE_SALE_FEE_BPS: '250',
      TOLLGATE_SELLER_NAME: 'Ada Ltd',
      TOLLGATE_SELLER_TAX_ID: 'GB1',
    },
  })
})
afterAll(async () => {
  expect(await admin.world.audit()).toMatchObject({ ok: true, differences: [] })
  await admin.close()
  await stripe.close()
})
beforeEach(() => {
  stripe.state = 'up'
})

const buy = (apiKey: string) =>
  admin.call({
    method: 'POST',
    path: '/v1/credit/purchases',
    body: { method: 'card', amount: 10_000_000 },
    token: apiKey,
  })

const purchases = async (apiKey: string) => (await admin.get('/v1/credit/purchases', apiKey)).json

async function send(payload: string, header: string | null) {
  const headers = header === null ? {} : { 'stripe-signature': header }
  const answer = await request(admin.world.url(PATH), { method: 'POST', headers, body: payload })
  return { httpStatus: answer.statusCode, json: JSON.parse(await answer.body.text()) }
}

/** A gateway that nothing rings looks when it starts, and a minute after each look. */
function expectLooksOfTheClockAlone(): void {
  const looks = stripe.calls.filter((call) => call === 'GET /v1/events').length
  expect(looks).toBeLessThanOrEqual(1 + (performance.now() - startedMs) / 60_000)
  expect(stripe.calls).toHaveLength(looks)
}

test('the offer and a quote need no key and ask Stripe nothing', async () => {
  const offered = await admin.get('/v1/credit', null)
  expect(offered.json).toEqual({
    object: 'credit_sale',
    seller: { name: 'Ada Ltd', tax_id: 'GB1' },
    methods: [
      {
        id: 'card',
        kind: 'card',
        currency: 'usd',
        minimum: 10_000_000,
        maximum: 500_000_000,
        fee_bps: 250,
        available: true,
      },
    ],
  })
  const quoted = await admin.get('/v1/credit/quote?amount=10000000', null)
  expect(quoted.json).toMatchObject({ pay: { amount: '10.26', units: '1026' }, fee_bps: 250 })
  expectLooksOfTheClockAlone()
})

test('a message with a wrong signature causes no look', async () => {
  const { payload, header } = stripe.message()
  const old = stripe.message({ atMs: stripe.nowMs - 301_000 })
  const early = stripe.message({ atMs: stripe.nowMs + 301_000 })
  const forged = stripe.message({ secret: 'whsec_of_another' })
  const [time = '', signature = ''] = header.split(',')
  for (const [sent, headed] of [
    [payload, null],
    [payload, ''],
    [payload, 'v1=00'],
    [payload, `${time},v0=${signature.slice(3)}`],
    [payload, `${time},v1=${'0'.repeat(64)}`],
    [payload, `${time},v1=é${signature.slice(4)}`],
    [payload, `t=9999999999999999,${signature}`],
    [`${payload} `, header],
    [payload, forged.header],
    [old.payload, old.header],
    [early.payload, early.header],
    ['x'.repeat(256 * 1024 + 1), header],
  ] as const) {
    expect(await send(sent, headed), headed ?? 'none').toEqual(refusal(400, 'bad_request'))
  }
  expectLooksOfTheClockAlone()
})

test('however often a buyer asks about an open purchase, Stripe is asked once in three seconds', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const { id } = objectAt((await buy(apiKey)).json, 'purchase')
  const guest = {
    email: 'buyer@example.org',
    accountId,
    role: 'owner',
    origin: PUBLIC_URL,
  } as const
  const browser = await inviteGuest(admin.world, guest)
  const asked = () => stripe.calls.filter((call) => call.startsWith('GET /v1/checkout')).length
  const path = `accounts/${accountId}/purchases/${id}`
  const askOften = async () => {
    const answers = []
    for (let calls = 0; calls < 5; calls++) {
      answers.push(...(await Promise.all([browser.get(path), browser.get(`${path}/page`)])))
    }
    return new Set(answers.map(({ httpStatus }) => httpStatus))
  }
  expect([await askOften(), asked()]).toEqual([new Set([200]), 2])
  stripe.nowMs += 3_000
  expect([await askOften(), asked()]).toEqual([new Set([200]), 4])
  stripe.nowMs += 3_000
  stripe.state = 'failing'
  expect([await askOften(), asked()]).toEqual([new Set([502]), 6])
  stripe.state = 'up'
  stripe.pay(String(stripe.sessions.at(-1)?.id))
  stripe.nowMs += 3_000
  expect((await browser.get(path)).json).toMatchObject({ id, state: 'credited' })
})

test('a payment is credited as soon as a signed message arrives', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const begun = await buy(apiKey)
  expect(begun).toMatchObject({
    httpStatus: 201,
    json: { url: expect.stringContaining(stripe.baseUrl), purchase: { state: 'open' } },
  })
  stripe.pay(String(stripe.sessions.at(-1)?.id))
  const { payload, header } = stripe.message()
  // Doubled, and replayed.
  for (let number = 0; number < 3; number++) {
    expect(await send(payload, header)).toMatchObject({ httpStatus: 200 })
  }
  // The look that the message has begun is under way.
  await expect
    .poll(() => purchases(apiKey))
    .toMatchObject({
      pending: [],
      data: [{ kind: 'purchase', amount: 10_000_000 }],
    })
  const { json } = await admin.get(`/v1/admin/accounts/${accountId}`)
  expect(objectAt(json, 'credit', 'backed')).toMatchObject({ balance: 10_000_000 })
})

test('a refund is in the purchase, its list and the statement, and is sent to webhooks once', async () => {
  const { accountId, apiKey } = await admin.buyer()
  await admin.post('/v1/admin/webhooks', {
    url: 'https://receiver.invalid/',
    events: ['purchase.reversed'],
  })
  const ring = async () => {
    const { payload, header } = stripe.message()
    expect(await send(payload, header)).toMatchObject({ httpStatus: 200 })
  }
  await buy(apiKey)
  const source = String(stripe.sessions.at(-1)?.id)
  stripe.pay(source)
  await ring()
  const listed = async (query: string) =>
    (await admin.get(`/v1/admin/purchases?account_id=${accountId}&${query}`)).json['data']
  await expect.poll(() => listed('state=credited')).toMatchObject([{ reversal: null, reversed: 0 }])
  expect(await listed('reversal=refunded,partly_refunded,disputed')).toEqual([])
  // $10.26 was paid for $10 of credit.
  stripe.refund(source, 513)
  await ring()
  const refunded = { state: 'credited', reversal: 'partly_refunded', reversed: 5_000_000 }
  await expect.poll(() => listed('reversal=partly_refunded')).toMatchObject([refunded])
  expect(await listed('reversal=refunded,disputed')).toEqual([])
  const { json } = await admin.get(`/v1/admin/accounts/${accountId}/statement`)
  expect(json['lines']).toMatchObject([
    { kind: 'reversal', amount: -5_000_000, reversal: 'partly_refunded' },
    { kind: 'purchase', amount: 10_000_000, reversal: 'partly_refunded' },
  ])
  expect(await admin.get('/v1/admin/purchases?reversal=lost')).toEqual(
    refusal(400, 'invalid_parameter', 'reversal'),
  )
  const sent = () =>
    admin.world.gateway.store.db.selectFrom('webhook_deliveries').select('body').execute()
  await expect.poll(async () => (await sent()).length).toBe(1)
  expect(JSON.parse(String((await sent())[0]?.body))).toMatchObject({
    type: 'purchase.reversed',
    data: { account_id: accountId, amount: -5_000_000, remaining: 5_000_000, balance: 5_000_000 },
  })
})

test('a payment in another currency adds no credit when it is approved: the answer says why, and nothing changes', async () => {
  const { accountId, apiKey } = await admin.buyer()
  await buy(apiKey)
  stripe.pay(String(stripe.sessions.at(-1)?.id), { currency: 'eur' })
  const { payload, header } = stripe.message()
  expect(await send(payload, header)).toMatchObject({ httpStatus: 200 })
  const listed = () => admin.get(`/v1/admin/purchases?account_id=${accountId}`)
  await expect.poll(async () => column(await listed(), 'state')).toEqual(['held'])
  const held = await listed()
  const [id = ''] = column(held, 'id')
  const approved = await admin.post(`/v1/admin/purchases/${String(id)}/credit`, {})
  expect(approved).toEqual(refusal(409, 'purchase_not_held'))
  expect(textOf(objectAt(approved.json, 'error'), 'message')).toBe(
    'This purchase is on hold. Its payment cannot be credited, for example because it is in another currency. Refund it where it was paid, or dismiss the purchase.',
  )
  expect((await listed()).json).toEqual(held.json)
  expect(await purchases(apiKey)).toMatchObject({ data: [], pending: [{ state: 'held' }] })
})

test('a held payment that Stripe no longer has is refused for good when it is approved: the answer says why', async () => {
  const { accountId, apiKey } = await admin.buyer()
  await buy(apiKey)
  const source = String(stripe.sessions.at(-1)?.id)
  stripe.pay(source, { currency: 'eur' })
  const { payload, header } = stripe.message()
  expect(await send(payload, header)).toMatchObject({ httpStatus: 200 })
  const held = () => admin.get(`/v1/admin/purchases?account_id=${accountId}&state=held`)
  await expect.poll(async () => column(await held(), 'state')).toEqual(['held'])
  const [id = ''] = column(await held(), 'id')
  stripe.lose(source)
  const approved = await admin.post(`/v1/admin/purchases/${String(id)}/credit`, {})
  expect(approved).toEqual(refusal(502, 'payment_unavailable'))
  expect(approved.headers['x-should-retry']).toBe('false')
  expect(textOf(objectAt(approved.json, 'error'), 'message')).toMatch(
    /^Stripe does not have this payment: .* Ask the operator\.$/,
  )
})

test('a message can have signatures of two secrets, while one replaces the other', async () => {
  const { payload, header } = stripe.message()
  const [time, signature] = header.split(',')
  const both = `${time},v1=${'0'.repeat(64)},${signature},v0=1`
  expect(await send(payload, both)).toMatchObject({ httpStatus: 200 })
})

test.each(['failing', 'broken'] as const)(
  'a purchase answers 502 while Stripe is %s, and is not listed',
  async (state) => {
    const { apiKey } = await admin.buyer()
    stripe.state = state
    expect(await buy(apiKey)).toEqual(refusal(502, 'payment_unavailable'))
    expect(await purchases(apiKey)).toMatchObject({ pending: [] })
  },
)

test('while Stripe does not answer, only purchases wait for it, and they answer 502 at the deadline', async () => {
  const [one, other] = [await admin.buyer(), await admin.buyer()]
  await admin.credit(one.accountId, { amountMicros: 1_000_000, reference: 'for a chat' })
  const never = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  stripe.holdAnswer = async () => {
    asked.resolve()
    await never.promise
  }
  let isOver = false
  const hung = buy(one.apiKey).finally(() => {
    isOver = true
  })
  await asked.promise
  for (let round = 0; round < 20; round++) {
    expect((await admin.get('/v1/credit', null)).httpStatus).toBe(200)
    expect((await admin.get('/v1/credit/quote?amount=10000000', null)).httpStatus).toBe(200)
    expect(await purchases(other.apiKey)).toMatchObject({ pending: [] })
    expect((await admin.chat(one.apiKey)).httpStatus).not.toBe(504)
    expect(await send(stripe.message().payload, stripe.message().header)).toMatchObject({
      httpStatus: 200,
    })
  }
  expect(isOver).toBe(false)
  // Each of two attempts is given up after twelve seconds.
  expect((await hung).json).toEqual(errorOf('payment_unavailable'))
  stripe.holdAnswer = async () => {}
  never.resolve()
  expect(await purchases(one.apiKey)).toMatchObject({ pending: [] })
  expect((await buy(one.apiKey)).httpStatus).toBe(201)
})

test('without a webhook secret the path does not exist', async () => {
  const without = await Management.start({
    settings: { STRIPE_SECRET_KEY: 'sk_test_x', STRIPE_BASE_URL: stripe.baseUrl },
    mode: 'simulator',
  })
  const answer = await without.call({ method: 'POST', path: PATH, body: {}, token: null })
  expect(answer).toEqual(refusal(404, 'not_found'))
  const sold = await without.get('/v1/credit', null)
  expect(sold.json).toMatchObject({ seller: null, methods: [{ id: 'card' }] })
  expect(textOf(sold.json, 'object')).toBe('credit_sale')
  await without.close()
})
