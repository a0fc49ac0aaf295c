import { expect, test } from 'vitest'
import { errorOf, Management, refusal, textOf } from './management.ts'

const admin = Management.ofFile()
async function newCode(amountMicros: number) {
  const body = { amount: amountMicros }
  const { httpStatus, json } = await admin.post('/v1/admin/codes', body)
  expect(httpStatus).toBe(201)
  return { id: textOf(json, 'id'), code: textOf(json, 'code'), json }
}

const redeem = (accountId: string, code: string) =>
  admin.post(`/v1/admin/accounts/${accountId}/redeem`, { code })

test('a code is created, shown once, and adds paid credit once', async () => {
  const { id, code, json } = await newCode(2_000_000)
  const { code: _, ...shown } = json
  expect(shown).toEqual({
    id: expect.stringMatching(/^code_[0-9a-z]{26}$/),
    object: 'credit_code',
    suffix: code.slice(-6),
    amount: 2_000_000,
    expires_at: null,
    revoked_at: null,
    redeemed_at: null,
    redeemed_by: null,
    created_at: expect.any(String),
  })
  expect((await admin.get(`/v1/admin/codes/${id}`)).json).toEqual(shown)

  const accountId = await admin.account()
  const redeemed = await redeem(accountId, code.toLowerCase())
  expect(redeemed).toMatchObject({
    httpStatus: 201,
    json: { kind: 'activation', purse: 'backed', amount: 2_000_000, reference: id },
  })
  expect(await redeem(accountId, code)).toMatchObject({ httpStatus: 200, json: redeemed.json })
  expect(await redeem(await admin.account(), code)).toMatchObject({
    httpStatus: 409,
    json: errorOf('credit_code_redeemed', 'code'),
  })
  expect((await admin.get(`/v1/admin/codes/${id}`)).json).toEqual({
    ...shown,
    redeemed_at: redeemed.json['created_at'],
    redeemed_by: accountId,
  })
  const { text } = await admin.apiKey(accountId)
  expect((await admin.get('/v1/credit/purchases', text)).json).toMatchObject({
    data: [redeemed.json],
  })
  expect((await admin.chat(text)).httpStatus).toBe(200)
})

test('an activation lifts the limit of an account without paid credit at once', async () => {
  const limited = await Management.start({
    settings: { TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED: '1' },
  })
  const accountId = await limited.account()
  const { text } = await limited.apiKey(accountId)
  expect((await limited.chat(text)).json).toEqual(errorOf('insufficient_credit'))
  const refused = await limited.chat(text)
  expect(refused.json).toEqual(errorOf('rate_limited'))
  expect(refused.headers['ratelimit']).toMatch(/"account";r=0;t=[1-9]/)
  expect(refused.headers['ratelimit-policy']).toMatch(/"account";q=1;w=60/)
  const made = await limited.post('/v1/admin/codes', { amount: 1_000_000 })
  const body = { code: textOf(made.json, 'code') }
  await limited.post(`/v1/admin/accounts/${accountId}/redeem`, body)
  expect((await limited.chat(text)).httpStatus).toBe(200)
  await limited.close()
})

test('a code that is unknown, expired or revoked adds no credit', async () => {
  let nowMs = Date.now()
  const later = await Management.start({ clock: { nowMs: () => nowMs } })
  const accountId = await later.account()
  const tried = (code: string) =>
    later.post(`/v1/admin/accounts/${accountId}/redeem`, { code }).then(({ json }) => json)
  expect(await tried('AAAAAA-AAAAAA-AAAAAA-AAAAAA')).toEqual(errorOf('unknown_credit_code', 'code'))
  const expires_at = new Date(nowMs + 1_000).toISOString()
  const expiring = await later.post('/v1/admin/codes', { amount: 5, expires_at })
  const revoked = await later.post('/v1/admin/codes', { amount: 5 })
  const ofRevoked = `/v1/admin/codes/${textOf(revoked.json, 'id')}`
  const answer = await later.call({ method: 'DELETE', path: ofRevoked })
  expect(answer).toMatchObject({ httpStatus: 200, json: { revoked_at: expect.any(String) } })
  nowMs += 1_000
  for (const { json } of [expiring, revoked]) {
    expect(await tried(textOf(json, 'code'))).toEqual(errorOf('credit_code_expired', 'code'))
  }
  const late = await later.post('/v1/admin/codes', { amount: 5, expires_at })
  expect(late).toEqual(refusal(400, 'invalid_parameter', 'expires_at'))
  await later.close()
})

test('a redeemed code cannot be revoked', async () => {
  const { id, code } = await newCode(5)
  await redeem(await admin.account(), code)
  const answer = await admin.call({ method: 'DELETE', path: `/v1/admin/codes/${id}` })
  expect(answer).toEqual(refusal(409, 'credit_code_redeemed'))
})

test('a code is nowhere in the store', async () => {
  const { code } = await newCode(5)
  const rows = await admin.world.gateway.store.db.selectFrom('credit_codes').selectAll().execute()
  const stored = JSON.stringify(rows)
  expect(stored).toContain(code.slice(-6))
  expect(stored).not.toContain(code)
  expect(stored).not.toContain(code.replaceAll('-', ''))
})
