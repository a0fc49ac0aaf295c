import { beforeEach, expect, test } from 'vitest'
import { ADMIN_TOKEN, column, Management } from './management.ts'

/** The changes of an account's credit, day by day. */

const NOW_MS = Date.parse('2027-03-10T12:00:00Z')

let accountId: string

const admin = Management.ofEach({ clock: { nowMs: () => NOW_MS } })
beforeEach(async () => {
  accountId = await admin.account(10_000_000)
})

const path = (query: string) => `/v1/admin/accounts/${accountId}/statement${query}`

test('a statement has a line for the requests of a day and one for each top-up, as JSON and as CSV', async () => {
  const { text: apiKey } = await admin.apiKey(accountId)
  await admin.chat(apiKey)
  await admin.world.gateway.settled()
  const { json } = await admin.get(path('?from=2027-03-09T05:00:00Z'))
  const chargeMicros = Number(json['closing_balance']) - 10_000_000
  const nothing = {
    purse: null,
    reference: null,
    request_id: null,
    expires_at: null,
    reversal: null,
  }
  expect(chargeMicros).toBeLessThan(0)
  expect(json).toEqual({
    object: 'statement',
    account_id: accountId,
    from: '2027-03-09T00:00:00.000Z',
    to: '2027-03-11T00:00:00.000Z',
    opening_balance: 0,
    closing_balance: 10_000_000 + chargeMicros,
    lines: [
      {
        ...{ date: '2027-03-10', kind: 'charge', count: 1, amount: chargeMicros },
        ...{ balance: 10_000_000 + chargeMicros, ...nothing, created_at: null },
      },
      {
        ...{ date: '2027-03-10', kind: 'top_up', count: 1, amount: 10_000_000 },
        ...{ balance: 10_000_000, ...nothing, purse: 'backed', reference: expect.any(String) },
        created_at: '2027-03-10T12:00:00.000Z',
      },
    ],
  })
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, accept: 'text/csv' }
  const csv = await fetch(admin.world.url(path('')), { headers })
  expect((await csv.text()).split('\r\n')).toEqual([
    'date,kind,count,amount,balance,purse,reference,request_id,expires_at,created_at,reversal',
    expect.stringMatching(/^2027-03-10,charge,1,-0\.\d+,9\.\d+,,,,,,$/),
    expect.stringMatching(/^2027-03-10,top_up,1,10,10,backed,[^,]+,,,2027-03-10T12:00:00\.000Z,$/),
    '',
  ])
})

test('while requests come in, each statement adds up, and the requests of today are its first line', async () => {
  const { text: apiKey } = await admin.apiKey(accountId)
  let isRunning = true
  const chats = Promise.all(Array.from({ length: 8 }, () => admin.chat(apiKey))).finally(() => {
    isRunning = false
  })
  do {
    const { json } = await admin.get(path(''))
    const lines = json['lines'] as readonly Record<string, unknown>[]
    let balanceMicros = Number(json['opening_balance'])
    for (const line of lines.toReversed()) {
      balanceMicros += Number(line['amount'])
      expect(line['balance']).toBe(balanceMicros)
    }
    expect(json['closing_balance']).toBe(balanceMicros)
    const kinds = lines.map((line) => line['kind'])
    expect(kinds).toEqual(kinds.length === 1 ? ['top_up'] : ['charge', 'top_up'])
  } while (isRunning)
  await chats
  await admin.world.gateway.settled()
  const { json } = await admin.get(path(''))
  expect(Object(json['lines'])[0]).toMatchObject({ kind: 'charge', count: 8 })
})

test('lines can be limited to some kinds, and entries of a range have the balances of their time', async () => {
  const { text: apiKey } = await admin.apiKey(accountId)
  await admin.chat(apiKey)
  await admin.world.gateway.settled()
  const { json } = await admin.get(path('?kind=top_up,activation'))
  expect(json['lines']).toEqual([expect.objectContaining({ kind: 'top_up' })])
  const entries = (query: string) => admin.get(`/v1/admin/accounts/${accountId}/entries${query}`)
  const kinds = async (query: string) => column(await entries(query), 'kind')
  expect(await kinds('?from=2027-03-10T12:00:00Z&to=2027-03-10T12:00:01Z')).toEqual([
    'charge',
    'top_up',
  ])
  expect(await kinds('?from=2027-03-10T12:00:01Z')).toEqual([])
  expect(await kinds('?to=2027-03-10T12:00:00Z')).toEqual([])
})

test('a statement of days before the account had credit is empty, with the balances of that time', async () => {
  const { json } = await admin.get(path('?from=2027-03-01T00:00:00Z&to=2027-03-03T00:00:00Z'))
  expect(json).toMatchObject({ opening_balance: 0, closing_balance: 0, lines: [] })
})

test.each([
  ['?from=2027-03-02T00:00:00Z&to=2027-03-01T00:00:00Z', 'from'],
  ['?from=2025-03-02T00:00:00Z', 'from'],
  ['?to=yesterday', 'to'],
])('the range %s is refused', async (query, param) => {
  const { httpStatus, json } = await admin.get(path(query))
  expect([httpStatus, json['error']]).toEqual([400, expect.objectContaining({ param })])
})

test('an unknown account has no statement', async () => {
  expect((await admin.get('/v1/admin/accounts/acct_0/statement')).httpStatus).toBe(404)
})
