import { afterAll, expect, test } from 'vitest'
import { HOUR_MS } from '../../src/vocabulary/clock.ts'
import { Management, refusal, textOf } from './management.ts'

/** Allowances and limits that an account or a key is given. */

// Half an hour before midnight in Berlin, on the day before the clocks go back.
let nowMs = Date.parse('2026-10-24T21:30:00Z')

const admin = Management.ofFile({ clock: { nowMs: () => nowMs } })
afterAll(() => admin.world.expectExactLedger())

const NO_LIMITS = { requests_per_minute: null, in_flight: null, tokens_per_minute: null }

async function payer() {
  const accountId = await admin.account(10_000_000)
  const { id: keyId, text } = await admin.apiKey(accountId)
  const account = `/v1/admin/accounts/${accountId}`
  return { account, key: `/v1/admin/keys/${keyId}`, text }
}

async function chat(text: string) {
  const answer = await admin.chat(text)
  await admin.world.gateway.settled()
  return answer
}

test('an allowance is shown with its spend, refuses with its reset, and resets at midnight of its zone', async () => {
  const { account, key, text } = await payer()
  for (const [path, code] of [
    [key, 'key_limit_reached'],
    [account, 'insufficient_credit'],
  ] as const) {
    const set = { amount: 200, period: 'day', time_zone: 'Europe/Berlin' }
    const given = await admin.patch(path, { allowance: set })
    expect(given.json).toMatchObject({
      allowance: { ...set, held: 0, resets_at: '2026-10-24T22:00:00.000Z' },
    })
    await admin.patch(path, { allowance: { amount: 1, period: 'day', time_zone: 'Europe/Berlin' } })
    const refused = await chat(text)
    expect(refused).toEqual(refusal(402, code))
    expect(JSON.stringify(refused.json)).toContain(
      'resets at 2026-10-24T22:00:00.000Z. This request alone is above the allowance: have it raised.',
    )
    expect((await admin.patch(path, { allowance: null })).json).toMatchObject({ allowance: null })
  }
  const day = { amount: 9_000_000, period: 'day', time_zone: 'Europe/Berlin' }
  await admin.patch(key, { allowance: day })
  const { httpStatus, headers } = await chat(text)
  expect(httpStatus).toBe(200)
  const { spend, allowance } = (await admin.get(key)).json
  expect(Number(spend)).toBeGreaterThan(0)
  expect(allowance).toEqual({
    ...day,
    spent: spend,
    held: 0,
    resets_at: '2026-10-24T22:00:00.000Z',
  })
  expect((await admin.get('/v1/key', text)).json).toMatchObject({ allowance, limits: NO_LIMITS })
  const { hold } = (await admin.get(`/v1/admin/requests/${headers['x-request-id']}`)).json
  // A micro-dollar less than another such request needs.
  const amountMicros = Number(spend) + Number(hold) - 1
  await admin.patch(key, { allowance: { ...day, amount: amountMicros } })
  const spentUp = await chat(text)
  expect(spentUp).toEqual(refusal(402, 'key_limit_reached'))
  expect(JSON.stringify(spentUp.json)).toContain(
    'resets at 2026-10-24T22:00:00.000Z. Wait until then, or have it raised.',
  )
  await admin.patch(key, { allowance: day })
  nowMs += HOUR_MS / 2
  const next = { ...day, spent: 0, held: 0, resets_at: '2026-10-25T23:00:00.000Z' }
  expect((await admin.get(key)).json).toMatchObject({ allowance: next })
})

test('limits of a key and of an account refuse, above and below the defaults, and name the key or the account', async () => {
  const { account, key, text } = await payer()
  await admin.patch(key, { limits: { requests_per_minute: 1 } })
  expect((await chat(text)).httpStatus).toBe(200)
  const ofKey = await chat(text)
  expect(ofKey).toEqual(refusal(429, 'rate_limited'))
  expect(JSON.stringify(ofKey.json)).toContain('More than 1 request in a minute on this API key.')
  expect(ofKey.headers['retry-after']).toBe('60')

  await admin.patch(key, { limits: null })
  await admin.patch(account, { limits: { requests_per_minute: 1 } })
  expect((await chat(text)).httpStatus).toBe(200)
  const ofAccount = await chat(text)
  expect(ofAccount).toEqual(refusal(429, 'rate_limited'))
  expect(JSON.stringify(ofAccount.json)).toContain('on this account.')

  const tokens = await admin.patch(account, {
    limits: { requests_per_minute: null, tokens_per_minute: 1_000 },
  })
  expect(tokens.json).toMatchObject({ limits: { ...NO_LIMITS, tokens_per_minute: 1_000 } })
  expect((await chat(text)).httpStatus).toBe(200)
  // It counts as the tokens that it used, far fewer than it was held for.
  expect((await chat(text)).httpStatus).toBe(200)
  await admin.patch(account, { limits: { tokens_per_minute: 10 } })
  const ofTokens = await chat(text)
  expect(ofTokens).toEqual(refusal(429, 'rate_limited'))
  expect(JSON.stringify(ofTokens.json)).toContain('this account can use 10 in a minute')
  expect(JSON.stringify(ofTokens.json)).toContain('This request alone is above the limit')
  // No wait would help, and clients that retry by the header or the status do not.
  expect(ofTokens.headers['retry-after']).toBeUndefined()
  expect(ofTokens.headers['x-should-retry']).toBe('false')
})

test('the limit of requests in flight can be more than eight for a key, and lower for an account, and their holds use up an allowance', async () => {
  const { account, key, text } = await payer()
  await admin.patch(key, { limits: { in_flight: 10 } })
  const gate = admin.world.simulator.gate('own-limits')
  const body = {
    model: 'sim/text',
    max_tokens: 16,
    messages: [{ role: 'user', content: 'Say hello.' }],
  }
  const fault = { hold: 'beforeHeaders', gate: 'own-limits' } as const
  admin.world.simulator.script({ ...fault, times: 10 })
  const sent = Array.from({ length: 10 }, () =>
    admin.call({ method: 'POST', path: '/v1/chat/completions', body, token: text }),
  )
  await gate.arrived(10)
  const ofKey = await chatNow(text)
  expect(ofKey).toEqual(refusal(429, 'too_many_concurrent_requests'))
  const { held } = (await admin.get(key)).json
  const day = { amount: held, period: 'day', time_zone: 'UTC' }
  const full = await admin.patch(key, { allowance: day })
  nowMs += 24 * HOUR_MS
  const next = (await admin.get(key)).json
  nowMs -= 24 * HOUR_MS
  await admin.patch(key, { allowance: null })
  const advice = 'Wait for one to end, or ask the operator for a higher limit.'
  expect(JSON.stringify(ofKey.json)).toContain(
    `This API key already has 10 requests in flight. ${advice}`,
  )
  await admin.patch(key, { limits: { in_flight: 100 } })
  await admin.patch(account, { limits: { in_flight: 10 } })
  const ofAccount = await chatNow(text)
  expect(JSON.stringify(ofAccount.json)).toContain(
    `This account already has 10 requests in flight. ${advice}`,
  )
  gate.release()
  expect(full.json).toMatchObject({ state: 'limit_reached', allowance: { spent: 0, held } })
  expect(next).toMatchObject({ state: 'active', allowance: { spent: 0, held: 0 } })
  for (const answer of await Promise.all(sent)) expect(answer.httpStatus).toBe(200)
  expect((await chat(text)).httpStatus).toBe(200)
})

const chatNow = (text: string) => admin.chat(text)

test('a value that is not an allowance or limit is refused, and the error names its field', async () => {
  const { account, key } = await payer()
  const allowance = { amount: 1, period: 'day' }
  for (const [body, param] of [
    [{ allowance: { ...allowance, period: 'year' } }, 'allowance.period'],
    [{ allowance: { ...allowance, amount: -1 } }, 'allowance.amount'],
    [{ allowance: { ...allowance, amount: 0.5 } }, 'allowance.amount'],
    [{ allowance: { ...allowance, time_zone: 'Mars/Olympus' } }, 'allowance.time_zone'],
    [{ allowance: { ...allowance, time_zone: 'x'.repeat(9_000) } }, 'allowance.time_zone'],
    [{ allowance: { ...allowance, of: 1 } }, 'allowance.of'],
    [{ allowance: '20/day' }, 'allowance'],
    [{ limits: { in_flight: 0 } }, 'limits.in_flight'],
    [{ limits: { requests_per_minute: 1e12 } }, 'limits.requests_per_minute'],
    [{ limits: { tokens_per_minute: '5' } }, 'limits.tokens_per_minute'],
    [{ limits: { requests: 5 } }, 'limits.requests'],
  ] as const) {
    for (const path of [account, key]) {
      expect(await admin.patch(path, body)).toEqual(refusal(400, 'invalid_parameter', param))
    }
  }
  const made = await admin.post('/v1/admin/accounts', {
    name: 'a',
    allowance,
    limits: { in_flight: 3 },
  })
  expect(made.json).toMatchObject({
    allowance: { ...allowance, time_zone: 'UTC', spent: 0 },
    limits: { ...NO_LIMITS, in_flight: 3 },
  })
  expect(textOf(made.json, 'id')).toMatch(/^acct_/)
})
