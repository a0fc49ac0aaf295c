import { beforeAll, expect, test } from 'vitest'
import { type Browser, setUpOperator } from '../page/page-client.ts'
import { errorOf, Management, refusal } from './management.ts'

/** Activity of all accounts, as operators have it on the page. */

let operator: Browser
let accountIds: string[]
let keptKeyId: string

const admin = Management.ofFile()
beforeAll(async () => {
  operator = await setUpOperator(admin.world)
  accountIds = [await admin.account(5_000_000), await admin.account(2_000_000)]
  const [first = '', second = ''] = accountIds
  const kept = await admin.apiKey(first)
  const deleted = await admin.apiKey(second)
  keptKeyId = kept.id
  for (const apiKey of [kept, deleted, kept]) await admin.chat(apiKey.text)
  await admin.world.gateway.settled()
  await admin.call({ method: 'DELETE', path: `/v1/admin/keys/${deleted.id}` })
})

const idsOf = (json: Record<string, unknown>) =>
  (json['data'] as readonly { readonly id: string }[]).map(({ id }) => id)

const read = (path: string) => operator.get(`operator/requests${path}`)

test('operators list the requests of all accounts page by page, newest first, with the names of account and key', async () => {
  const [first, second] = accountIds
  const page = await read('?limit=2')
  expect(page.httpStatus).toBe(200)
  expect(page.json).toMatchObject({
    has_more: true,
    data: [
      { account_id: first, account_name: 'test', key_name: 'test', key_deleted: false },
      { account_id: second, account_name: 'test', key_name: 'test', key_deleted: true },
    ],
  })
  const next = await read(`?limit=2&cursor=${String(page.json['next_cursor'])}`)
  expect(next.json).toMatchObject({ has_more: false, data: [{ account_id: first }] })
  const ids = [page, next].flatMap(({ json }) => idsOf(json))
  expect(ids.toSorted().toReversed()).toEqual(ids)
})

test('operators list the requests of one account, and find them by model, tag and error', async () => {
  const [, second] = accountIds
  expect((await read(`?account=${second}`)).json).toMatchObject({ data: [{ account_id: second }] })
  const found = async (query: string) => ((await read(query)).json['data'] as unknown[]).length
  expect(await found('?model=sim/text')).toBe(3)
  expect(await found('?failed=true')).toBe(0)
  expect(await found('?tag=nightly')).toBe(0)
})

test('all requests of an hour, of a day by the hour and of a month by the day have one sum', async () => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const sums = []
  for (const since of ['', `?since=${daysAgo(1)}`, `?since=${daysAgo(30)}`]) {
    const { httpStatus, json } = await read(`/summary${since}`)
    expect(httpStatus).toBe(200)
    const steps = json['steps'] as readonly { readonly requests: number }[]
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(3)
    sums.push({ requests: json['requests'], failed: json['failed'], charge: json['charge'] })
  }
  const { json } = await operator.get('operator/usage/report')
  const { requests, failed, charge } = json['totals'] as Record<string, number>
  expect(sums).toEqual(new Array(3).fill({ requests, failed, charge }))
  expect(requests).toBe(3)
})

test('operators have a chart of one account, which names no other', async () => {
  const [, second] = accountIds
  const { json } = await operator.get(`operator/usage?account=${second}`)
  expect(json).toMatchObject({
    account_id: second,
    figures: { requests: 1 },
    groups: [{ id: second }],
  })
})

test('operators find requests by upstream and by key, list and counts alike', async () => {
  const [{ upstream } = { upstream: '' }] = (await read('?limit=1')).json['data'] as readonly {
    readonly upstream: string
  }[]
  const monthAgo = new Date(Date.now() - 30 * 86_400_000).toISOString()
  for (const [filter, requests] of [
    [`upstream=${upstream}`, 3],
    ['upstream=none', 0],
    [`key=${keptKeyId}`, 2],
    [`key=${keptKeyId}&upstream=none,${upstream}`, 2],
  ] as const) {
    expect((await read(`?${filter}`)).json['data']).toHaveLength(requests)
    for (const range of ['', `&since=${monthAgo}`]) {
      const { httpStatus, json } = await read(`/summary?${filter}${range}`)
      expect([filter, httpStatus, json['requests']]).toEqual([filter, 200, requests])
    }
  }
})

test('members can not filter by upstream', async () => {
  for (const path of ['requests', 'requests/summary', 'requests.csv']) {
    const { httpStatus, json } = await operator.get(
      `accounts/${accountIds[0]}/${path}?upstream=openai`,
    )
    expect([path, httpStatus, json]).toEqual([path, 400, errorOf('invalid_parameter', 'upstream')])
  }
})

test('one request has the names of its account and key, and an unknown one is 404', async () => {
  const { json } = await read('?limit=1')
  const [first] = json['data'] as readonly { readonly id: string }[]
  expect((await read(`/${first?.id}`)).json).toEqual(first)
  expect((await read('/req_none')).httpStatus).toBe(404)
})

test('an account is counted for operators as for its members', async () => {
  const [first] = accountIds
  const range = '?since=2026-01-01T00:00:00Z&until=2026-01-01T00:30:00Z'
  const own = await operator.get(`accounts/${first}/requests/summary${range}`)
  expect((await read(`/summary${range}&account=${first}`)).json).toEqual(own.json)
})

test.each([
  ['key=key_1', 'key'],
  ['state=final&since=2026-01-01T00:00:00Z&until=2026-01-01T02:00:00Z', 'since'],
])('all accounts are not counted by %s, because roll-ups do not have it', async (query, param) => {
  expect(await read(`/summary?${query}`)).toEqual(refusal(400, 'invalid_parameter', param))
})

test('operators find keys of all accounts by a part of their name, without deleted ones', async () => {
  const [first] = accountIds
  const find = async (search: string) => {
    const { json } = await operator.get(`operator/keys?search=${search}`)
    return json['data'] as readonly unknown[]
  }
  expect(await find('EST')).toMatchObject([
    { id: keptKeyId, account_id: first, account_name: 'test', name: 'test' },
  ])
  expect(await find(keptKeyId.slice(-8))).toHaveLength(1)
  expect(await find('nobody')).toEqual([])
})
