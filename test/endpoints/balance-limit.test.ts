import { expect, test } from 'vitest'
import { micros } from '../../src/vocabulary/money.ts'
import { setUpOperator } from '../page/page-client.ts'
import { Management, refusal, textOf } from './management.ts'

/** Credit that an account can't have: an account has at most a billion dollars, and owes at most as much by removals. */

const DOLLAR_MICROS = 1_000_000
const MOST_MICROS = 1_000_000_000 * DOLLAR_MICROS

const admin = Management.ofFile({ mode: 'simulator' })
/** An account that has three dollars less than the most. */
async function fullAccount(): Promise<string> {
  const accountId = await admin.account()
  await admin.world.gateway.ledger.addCredit(
    {
      accountId,
      purse: 'backed',
      amountMicros: micros(MOST_MICROS - 3 * DOLLAR_MICROS),
      expiresAtMs: null,
      reference: 'full',
    },
    null,
  )
  return accountId
}

const messageOf = ({ json }: { readonly json: unknown }) => JSON.stringify(json)

test("credit beyond an account's limit is refused with the most that can be added or removed", async () => {
  const accountId = await fullAccount()
  const path = `/v1/admin/accounts/${accountId}/credit`
  const expires_at = '9999-01-01T00:00:00Z'
  for (const kind of [{ kind: 'backed' }, { kind: 'free', expires_at }]) {
    const refused = await admin.post(path, { ...kind, amount: 3_000_001, reference: 'more' })
    expect(refused).toEqual(refusal(400, 'invalid_parameter', 'amount'))
    expect(messageOf(refused)).toContain(
      'must be at most $3.00: an account can have at most $1000000000.00',
    )
  }
  const added = await admin.credit(accountId, { amountMicros: 3_000_000, reference: 'rest' })
  expect(added.httpStatus).toBe(201)
  const debtor = await admin.account(1_000_000)
  const { ledger } = admin.world.gateway
  const removed = {
    accountId: debtor,
    purse: 'backed',
    expiresAtMs: null,
    reference: 'all',
  } as const
  await ledger.addCredit({ ...removed, amountMicros: micros(-MOST_MICROS) }, null)
  const refused = await admin.credit(debtor, { amountMicros: -1_000_001, reference: 'more' })
  expect(refused).toEqual(refusal(400, 'invalid_parameter', 'amount'))
  expect(messageOf(refused)).toContain(
    'must be at least −$1.00: an account can owe at most $1000000000.00',
  )
})

test('a code of more than an account can have is refused, and can still be used', async () => {
  const code = textOf((await admin.post('/v1/admin/codes', { amount: 4_000_000 })).json, 'code')
  const redeem = (accountId: string) =>
    admin.post(`/v1/admin/accounts/${accountId}/redeem`, { code })
  const refused = await redeem(await fullAccount())
  expect(refused).toEqual(refusal(400, 'invalid_parameter', 'code'))
  expect(messageOf(refused)).toContain('The credit of `code` must be at most $3.00')
  expect((await redeem(await admin.account())).httpStatus).toBe(201)
})

test('a purchase of more than an account can have is not started, and a payment of more is held until the account can have it', async () => {
  const accountId = await fullAccount()
  const { text: apiKey } = await admin.apiKey(accountId)
  const buy = { method: 'POST', path: '/v1/credit/purchases', token: apiKey } as const
  const refused = await admin.call({ ...buy, body: { method: 'card', amount: 10_000_000 } })
  expect(refused).toEqual(refusal(400, 'invalid_parameter', 'amount'))
  expect(messageOf(refused)).toContain('must be at most $3.00')

  const purchaseId = await admin.world.purchase(accountId, { kind: 'credit' })
  const path = `/v1/admin/purchases/${purchaseId}`
  expect((await admin.get(path)).json).toMatchObject({
    state: 'held',
    note: 'an account can have at most $1000000000.00',
  })
  const early = await admin.post(`${path}/credit`, {})
  expect(early).toEqual(refusal(409, 'purchase_not_held'))
  expect(messageOf(early)).toContain('Its credit must be at most $3.00')
  await admin.credit(accountId, { amountMicros: -100_000_000, reference: 'less' })
  expect((await admin.post(`${path}/credit`, {})).json).toMatchObject({ state: 'credited' })
})

test('sums over accounts stop at the largest exact number', async () => {
  const operator = await setUpOperator(admin.world)
  const accounts = await Promise.all(Array.from({ length: 10 }, () => fullAccount()))
  const { text: apiKey } = await admin.apiKey(accounts[0] ?? '')
  expect((await admin.chat(apiKey)).httpStatus).toBe(200)
  expect((await operator.get('operator/top-ups')).json).toMatchObject({
    amount: Number.MAX_SAFE_INTEGER,
  })
  for (const path of ['health', 'accounts?sort=available', 'usage', 'sale']) {
    expect([path, (await operator.get(`operator/${path}`)).httpStatus]).toEqual([path, 200])
  }
})
