import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonValue } from '../../src/json/walk.ts'
import { column, Management, refusal, textOf } from './management.ts'

let accountId: string
let apiKey: string

const admin = Management.ofFile()
beforeAll(async () => {
  accountId = await admin.account(1_000_000)
  apiKey = (await admin.apiKey(accountId)).text
})

interface ListCase {
  readonly list: string
  readonly path: () => string
  /** The token of the caller. */
  readonly token: () => string | undefined
  /** Makes one more row. */
  readonly insert: (number: number) => Promise<unknown>
}

const asAdmin = (): undefined => undefined

const LISTS: readonly ListCase[] = [
  {
    list: 'accounts',
    path: () => '/v1/admin/accounts',
    token: asAdmin,
    insert: () => admin.account(),
  },
  {
    list: 'keys',
    path: () => `/v1/admin/accounts/${accountId}/keys`,
    token: asAdmin,
    insert: () => admin.apiKey(accountId),
  },
  {
    list: 'entries',
    path: () => `/v1/admin/accounts/${accountId}/entries`,
    token: asAdmin,
    insert: (number) => admin.credit(accountId, { amountMicros: 1, reference: `entry ${number}` }),
  },
  {
    list: 'purchases',
    path: () => '/v1/credit/purchases',
    token: () => apiKey,
    insert: (number) =>
      admin.credit(accountId, { amountMicros: 1, reference: `purchase ${number}` }),
  },
  {
    list: 'codes',
    path: () => '/v1/admin/codes',
    token: asAdmin,
    insert: () => admin.post('/v1/admin/codes', { amount: 1 }),
  },
  {
    list: 'all_purchases',
    path: () => '/v1/admin/purchases',
    token: asAdmin,
    insert: () => admin.world.purchase(accountId, null),
  },
  {
    list: 'requests',
    path: () => '/v1/admin/requests',
    token: asAdmin,
    insert: () => admin.chat(apiKey),
  },
]

async function page({ path, token }: ListCase, query: string) {
  return admin.get(`${path()}?${query}`, token())
}

/** Every id, page by page, newest first. */
async function allIds(list: ListCase, afterPage: () => Promise<unknown> = async () => {}) {
  const ids: JsonValue[] = []
  let cursor = ''
  do {
    const answer = await page(list, `limit=3${cursor}`)
    expect(answer.httpStatus).toBe(200)
    ids.push(...column(answer, 'id'))
    const next = answer.json['next_cursor']
    expect(answer.json['has_more']).toBe(next !== null)
    cursor = next === null ? '' : `&cursor=${String(next)}`
    await afterPage()
  } while (cursor !== '')
  return ids
}

describe.each(LISTS)('the list of $list', (list) => {
  beforeAll(async () => {
    for (let number = 1; number <= 8; number++) await list.insert(number)
  })

  test('is whole over pages of any length', async () => {
    const ids = await allIds(list)
    expect(ids.length).toBeGreaterThanOrEqual(8)
    expect(column(await page(list, 'limit=100'), 'id')).toEqual(ids)
    // Newest first: the latest rows are on the first page.
    await list.insert(0)
    const [newest, ...others] = await allIds(list)
    expect(others).toEqual(ids)
    expect(ids).not.toContain(newest)
  })

  test('misses none and repeats none while rows are being inserted', async () => {
    const before = await allIds(list)
    let inserted = 100
    let listing = true
    const inserting = (async () => {
      do await list.insert(inserted++)
      while (listing)
    })()
    // Rows are always added between two pages, and sometimes during a page.
    const ids = await allIds(list, () => list.insert(inserted++))
    listing = false
    await inserting
    expect(new Set(ids).size).toBe(ids.length)
    const made = new Set(before)
    expect(ids.filter((id) => made.has(id))).toEqual(before)
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=', 'cursor'],
    ['cursor=acct_1', 'cursor'],
    [`cursor=${Buffer.from('other 1').toString('base64url')}`, 'cursor'],
    ['page=2', 'page'],
  ])('refuses ?%s', async (query, param) => {
    expect(await page(list, query)).toEqual(refusal(400, 'invalid_parameter', param))
  })

  test('refuses the cursor of another list', async () => {
    const other = LISTS.find((candidate) => candidate.list !== list.list)
    if (other === undefined) throw new Error('no other list')
    const cursor = String((await page(other, 'limit=1')).json['next_cursor'])
    expect((await page(list, `cursor=${cursor}`)).httpStatus).toBe(400)
  })
})

describe('requests are filtered', () => {
  let requestId: string
  let openedAt: string

  beforeAll(async () => {
    const other = await admin.apiKey(await admin.account(1_000_000))
    const answer = await admin.chat(other.text)
    requestId = String(answer.headers['x-request-id'])
    await admin.world.gateway.settled()
    openedAt = textOf((await admin.get(`/v1/admin/requests/${requestId}`)).json, 'opened_at')
  })

  async function idsOf(query: string): Promise<JsonValue[]> {
    return column(await admin.get(`/v1/admin/requests?limit=100&${query}`), 'id')
  }

  test.each(['account', 'key'])('by %s', async (name) => {
    const { json } = await admin.get(`/v1/admin/requests/${requestId}`)
    const value = textOf(json, `${name}_id`)
    expect(await idsOf(`${name}=${value}`)).toEqual([requestId])
    const unknown = value.replace(/_.*/, '_none')
    expect(await idsOf(`${name}=${unknown}`)).toEqual([])
  })

  test('by state, model and moment', async () => {
    const { json } = await admin.get(`/v1/admin/requests/${requestId}`)
    expect(await idsOf(`state=${textOf(json, 'state')}&model=sim/text`)).toContain(requestId)
    expect(await idsOf('state=open')).toEqual([])
    expect(await idsOf('model=sim/none')).toEqual([])
    expect(await idsOf(`since=${openedAt}`)).toContain(requestId)
    expect(await idsOf(`until=${openedAt}`)).not.toContain(requestId)
    // The offset of two hours names the moment of `openedAt`.
    const shifted = `${new Date(Date.parse(openedAt) + 7_200_000).toISOString().slice(0, -1)}+02:00`
    expect(await idsOf(`since=${encodeURIComponent(shifted)}`)).toContain(requestId)
    const momentLater = openedAt.replace('Z', '001Z')
    expect(await idsOf(`since=${momentLater}`)).not.toContain(requestId)
    expect(await idsOf(`until=${momentLater}`)).toContain(requestId)
    expect(await idsOf('until=9999-12-31T23:59:59.9999999Z')).toContain(requestId)
  })

  test.each([
    ['state=closed', 'state'],
    ['since=yesterday', 'since'],
    ['until=2026-02-30T00:00:00Z', 'until'],
    ['model=', 'model'],
    ['account=Ada', 'account'],
    ['key=sk-1', 'key'],
    ['acount=acct_1', 'acount'],
  ])('refuses ?%s', async (query, param) => {
    const answer = await admin.get(`/v1/admin/requests?${query}`)
    expect(answer).toEqual(refusal(400, 'invalid_parameter', param))
  })
})
