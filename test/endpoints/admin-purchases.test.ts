import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open-store.ts'
import { micros } from '../../src/vocabulary/money.ts'
import type { PaymentJudgment } from '../../src/vocabulary/purchase.ts'
import { ADMIN_TOKEN, column, errorOf, Management, refusal, textOf } from './management.ts'
import { objectAt } from './openapi-reading.ts'

let aheadMs = 0
const clock = { nowMs: () => Date.now() + aheadMs }
const admin = Management.ofFile({ mode: 'simulator', clock })
const HOLD: PaymentJudgment = {
  kind: 'hold',
  reason: 'paid in another currency',
  worthMicros: micros(25_000_000),
}

const RECEIPT_NUMBER = /^R-\d{4}-\d{4}$/

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
    receipt_number: null,
  })
  expect((await admin.chat(text)).json).toEqual(errorOf('insufficient_credit'))

  expect(await decide(id, 'credit')).toMatchObject({
    httpStatus: 200,
    json: {
      state: 'credited',
      credited_at: expect.any(String),
      receipt_number: expect.stringMatching(RECEIPT_NUMBER),
    },
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

/** Three purchases of a new account: the first is credited a second after the last, and one between them is on hold. */
async function creditedInTurn() {
  const accountId = await admin.account()
  await admin.patch(`/v1/admin/accounts/${accountId}`, { name: '=1+1', external_id: accountId })
  const first = await admin.world.purchase(accountId, HOLD)
  const held = await admin.world.purchase(accountId, HOLD)
  const second = await admin.world.purchase(accountId, { kind: 'credit' })
  aheadMs += 1_000
  const { json } = await decide(first, 'credit')
  return { accountId, first, held, second, creditedAt: textOf(json, 'credited_at') }
}

test('purchases are listed by the time of their credit, over pages, and those that have none are left out', async () => {
  const { accountId, first, second, creditedAt } = await creditedInTurn()
  const list = (query: string) => admin.get(`/v1/admin/purchases?account_id=${accountId}&${query}`)
  const all = await list('since=1970-01-01T00:00:00Z')
  expect(column(all, 'id')).toEqual([first, second])
  expect(column(all, 'receipt_number')).toEqual([
    expect.stringMatching(RECEIPT_NUMBER),
    expect.stringMatching(RECEIPT_NUMBER),
  ])
  expect(column(await list(`since=${creditedAt}`), 'id')).toEqual([first])
  expect(column(await list(`until=${creditedAt}`), 'id')).toEqual([second])
  expect(column(await list('until=2099-01-01T00:00:00Z&state=held,credited'), 'id')).toEqual([
    first,
    second,
  ])
  const page = await list('limit=1&until=2099-01-01T00:00:00Z')
  const next = `limit=1&until=2099-01-01T00:00:00Z&cursor=${textOf(page.json, 'next_cursor')}`
  expect([column(page, 'id'), column(await list(next), 'id')]).toEqual([[first], [second]])
})

test('a range of purchases that have no time of credit is refused, and so is a cursor of one', async () => {
  const { accountId } = await creditedInTurn()
  const list = (query: string) => admin.get(`/v1/admin/purchases?account_id=${accountId}&${query}`)
  const since = 'since=1970-01-01T00:00:00Z'
  expect(await list(`${since}&state=held,open`)).toEqual(refusal(400, 'invalid_parameter', 'state'))
  const toHeld = textOf((await list('limit=2')).json, 'next_cursor')
  expect(await list(`${since}&cursor=${toHeld}`)).toEqual(
    refusal(400, 'invalid_parameter', 'cursor'),
  )
  expect(await list('until=soon')).toEqual(refusal(400, 'invalid_parameter', 'until'))
})

async function csvLines(query: string): Promise<readonly string[]> {
  const answer = await fetch(admin.world.url(`/v1/admin/purchases?${query}`), {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  return (await answer.text()).split('\r\n')
}

test('purchases are downloaded as CSV, with the receipt, the payment in its currency and exact dollars', async () => {
  const { accountId, first, held, second, creditedAt } = await creditedInTurn()
  const query = `account_id=${accountId}&format=csv`
  const [head, ...lines] = await csvLines(query)
  expect(head).toBe(
    'receipt_number,credited_at,created_at,account_id,account_name,external_id,method,paid,currency,fee,tax,credit,reversal,reversed,state,reference,purchase_id',
  )
  expect(lines.map((line) => line.split(',').at(-1))).toEqual([second, held, first, ''])
  const cells = lines.map((line) => line.split(','))
  expect(cells[2]).toEqual([
    expect.stringMatching(RECEIPT_NUMBER),
    creditedAt,
    expect.stringMatching(/Z$/),
    accountId,
    "'=1+1",
    accountId,
    'card',
    '25',
    'usd',
    '0',
    '',
    '25',
    '',
    '0',
    'credited',
    expect.stringMatching(/^pur_/),
    first,
  ])
  expect(cells[1]?.slice(0, 2)).toEqual(['', ''])
  expect(cells[1]?.at(14)).toBe('held')
  const [, ...credited] = await csvLines(`${query}&since=1970-01-01T00:00:00Z`)
  expect(credited).toEqual([lines[2], lines[0], ''])
})
