import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { micros } from '../../src/vocabulary/money.ts'
import type { PaymentJudgment } from '../../src/vocabulary/purchase.ts'
import { column, errorOf, Management, refusal, textOf } from './management.ts'
import { objectAt } from './openapi-reading.ts'

const admin = Management.ofFile({ mode: 'simulator' })
const HOLD: PaymentJudgment = {
  kind: 'hold',
  reason: 'paid in another currency',
  worthMicros: micros(25_000_000),
}

const decide = (purchaseId: string, decision: 'credit' | 'dismiss', body: object = {}) =>
  admin.post(`/v1/admin/purchases/${purchaseId}/${decision}`, body)

test('a held purchase is credited once by an admin, and is then no longer pending', async () => {
  const accountId = await admin.account()
  const { text } = await admin.apiKey(accountId)
  const id = await admin.world.purchase(accountId, HOLD)
  const shown = {
    id,
    object: 'purchase',
    method: 'card',
    state: 'held',
    credit: 25_000_000,
    reversal: null,
    reversed: 0,
    paid: { currency: 'usd', units: '2500', decimals: 2 },
    transaction: null,
    created_at: expect.any(String),
    credited_at: null,
  }
  expect((await admin.get('/v1/credit/purchases', text)).json).toMatchObject({
    data: [],
    pending: [shown],
  })
  expect((await admin.get(`/v1/admin/purchases/${id}`)).json).toEqual({
    ...shown,
    account_id: accountId,
    source: `play:${id}`,
    payment_ref: expect.stringMatching(/^pay_/),
    note: 'paid in another currency',
    expires_at: null,
  })
  expect((await admin.chat(text)).json).toEqual(errorOf('insufficient_credit'))

  expect(await decide(id, 'credit')).toMatchObject({
    httpStatus: 200,
    json: { state: 'credited', credited_at: expect.any(String) },
  })
  expect(await decide(id, 'credit')).toEqual(refusal(409, 'purchase_not_held'))
  expect((await admin.get('/v1/credit/purchases', text)).json).toMatchObject({
    data: [{ kind: 'purchase', purse: 'backed', amount: 25_000_000, reference: id }],
    pending: [],
  })
  expect((await admin.chat(text)).httpStatus).toBe(200)
})

test('of 20 admins who credit a held purchase at once, one adds the credit', async () => {
  const accountId = await admin.account()
  const id = await admin.world.purchase(accountId, HOLD)
  const answers = await Promise.all(Array.from({ length: 20 }, () => decide(id, 'credit')))
  const statuses = answers.map(({ httpStatus }) => httpStatus).sort()
  expect(statuses).toEqual([200, ...new Array(19).fill(409)])
  expect((await admin.get(`/v1/admin/accounts/${accountId}`)).json).toMatchObject({
    credit: { backed: { balance: 25_000_000 } },
  })
})

test('a purchase that is dismissed adds no credit, and keeps both reasons', async () => {
  const accountId = await admin.account()
  const id = await admin.world.purchase(accountId, HOLD)
  expect(await decide(id, 'dismiss')).toEqual(refusal(400, 'invalid_parameter', 'note'))
  expect(await decide(id, 'dismiss', { note: 'paid back' })).toMatchObject({
    httpStatus: 200,
    json: { state: 'dismissed', note: 'paid in another currency; paid back' },
  })
  for (const decision of ['credit', 'dismiss'] as const) {
    expect(await decide(id, decision, { note: 'again' })).toEqual(refusal(409, 'purchase_not_held'))
  }
  expect((await admin.get(`/v1/admin/accounts/${accountId}`)).json).toMatchObject({
    credit: { backed: { balance: 0 } },
  })
})

test('a purchase below the minimum is credited, and an open one is not', async () => {
  const accountId = await admin.account()
  const small = await admin.world.purchase(accountId, { kind: 'below_minimum' })
  expect((await decide(small, 'credit')).json).toMatchObject({ state: 'credited' })
  const open = await admin.world.purchase(accountId, null)
  expect((await decide(open, 'credit')).json).toEqual(errorOf('purchase_not_held'))
})

test('a held purchase of a provider that is no longer configured is refused for good, with what to do', async () => {
  const id = await admin.world.purchase(await admin.account(), HOLD)
  const store = await openStore({ url: `sqlite:${join(admin.world.folder, 'store.db')}` })
  const source = `chain:8453:0x${'0a'.repeat(32)}:0`
  await store.db.updateTable('purchases').set({ source }).where('id', '=', id).execute()
  await store.close()
  const refused = await decide(id, 'credit')
  expect(refused).toEqual(refusal(502, 'payment_unavailable'))
  expect(refused.headers['x-should-retry']).toBe('false')
  expect(textOf(objectAt(refused.json, 'error'), 'message')).toMatch(
    /^This gateway no longer takes .*`tollgate credit add`/,
  )
})

test('a purchase that cannot be dismissed is refused with the reason', async () => {
  const small = await admin.world.purchase(await admin.account(), { kind: 'below_minimum' })
  expect((await decide(small, 'dismiss', { note: 'too little' })).json).toMatchObject({
    error: {
      message: 'This purchase is below minimum. Only a purchase on hold can be dismissed.',
    },
  })
})

test('purchases are listed by state and account, newest first', async () => {
  const [one, other] = [await admin.account(), await admin.account()]
  const made = [
    await admin.world.purchase(one, HOLD),
    await admin.world.purchase(one, null),
    await admin.world.purchase(other, HOLD),
  ]
  const ids = async (query: string): Promise<unknown[]> => {
    const answer = await admin.get(`/v1/admin/purchases?limit=100&${query}`)
    return column(answer, 'id').filter((id) => made.includes(String(id)))
  }
  expect(await ids(`account_id=${one}`)).toEqual([made[1], made[0]])
  const named = await admin.get(`/v1/admin/purchases?account_id=${one}`)
  expect(column(named, 'account_name')).toEqual(['test', 'test'])
  expect(await ids('state=held')).toEqual([made[2], made[0]])
  expect(await ids(`state=open,held&account_id=${one}`)).toEqual([made[1], made[0]])
  const wrong = await admin.get('/v1/admin/purchases?state=lost')
  expect(wrong).toEqual(refusal(400, 'invalid_parameter', 'state'))
  expect(await admin.get('/v1/admin/purchases/pur_0')).toEqual(refusal(404, 'not_found'))
})
