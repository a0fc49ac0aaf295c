import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MADE_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { DAY_MS } from '../src/vocabulary/clock.ts'
import { Management, textOf } from './endpoints/management.ts'

/** Rules of credit that a whole server keeps when many ask at the same moment. On PostgreSQL, two gateways are asked. */
describe.each(MADE_DATABASES)('on $engine', ({ engine, create }) => {
  let database: TestDatabase
  let gateways: readonly Management[]
  let gateway: Management

  beforeEach(async () => {
    database = await create()
    const settings = { DATABASE_URL: database.url }
    gateway = await Management.start({ settings })
    gateways = engine === 'PostgreSQL' ? [gateway, await Management.start({ settings })] : [gateway]
  })
  afterEach(async () => {
    expect(await gateway.world.audit()).toMatchObject({ ok: true, differences: [] })
    for (const each of gateways) await each.close()
    await database.remove()
  })

  /** Asks a model that free credit pays for. */
  const ask = (asked: Management, token: string) => {
    const body = { model: 'sim/open', max_tokens: 16, messages: [{ role: 'user', content: 'Hi.' }] }
    return asked.call({ method: 'POST', path: '/v1/chat/completions', body, token })
  }

  /** One gateway after the other. */
  const gatewayAt = (place: number): Management => gateways[place % gateways.length] ?? gateway

  test('keys of an account without paid credit send 20 requests in a minute together, until it has paid credit', async () => {
    const accountId = await gateway.account()
    const free = {
      ...{ kind: 'free', amount: 1_000_000, reference: 'welcome' },
      expires_at: new Date(Date.now() + DAY_MS).toISOString(),
    }
    const given = await gateway.post(`/v1/admin/accounts/${accountId}/credit`, free)
    expect(given.httpStatus).toBe(201)
    const keys = await Promise.all(Array.from({ length: 5 }, () => gateway.apiKey(accountId)))
    const texts = Array.from({ length: 30 }, (_, place) => keys[place % keys.length]?.text ?? '')
    const answers = await Promise.all(texts.map((text, place) => ask(gatewayAt(place), text)))
    const codes = answers.map(({ httpStatus, json }) =>
      httpStatus === 200 ? 'answered' : Object(json['error']).code,
    )
    expect(codes.filter((code) => code === 'answered')).toHaveLength(20)
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(10)
    const [refused] = answers.filter(({ httpStatus }) => httpStatus === 429)
    expect(refused?.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/)
    await gateway.credit(accountId, { amountMicros: 1_000_000, reference: 'paid' })
    expect((await ask(gateway, texts[0] ?? '')).httpStatus).toBe(200)
  })

  test('one code that is redeemed 52 times at the same time, for two accounts, adds credit once', async () => {
    const made = await gateway.post('/v1/admin/codes', { amount: 2_000_000 })
    const code = textOf(made.json, 'code')
    const accountIds = [await gateway.account(), await gateway.account()]
    const answers = await Promise.all(
      Array.from({ length: 52 }, (_, place) => {
        const accountId = accountIds[(place >> 1) % 2] ?? ''
        return gatewayAt(place).post(`/v1/admin/accounts/${accountId}/redeem`, { code })
      }),
    )
    const statuses = answers.map(({ httpStatus }) => httpStatus)
    const count = (status: number) => statuses.filter((each) => each === status).length
    // Repeats of the account that has it, and refusals of the other one.
    expect([count(201), count(200), count(409)]).toEqual([1, 25, 26])
    const balances = await Promise.all(
      accountIds.map(async (accountId) => {
        const { json } = await gateway.get(`/v1/admin/accounts/${accountId}`)
        return Object(json['credit']).backed?.available ?? json
      }),
    )
    expect(balances.toSorted()).toEqual([0, 2_000_000])
  })
})
