import { beforeAll, describe, expect, test } from 'vitest'
import { writeCursor } from '../../src/operations/fields.ts'
import { ADMIN_TOKEN, column, errorOf, Management, refusal, textOf } from './management.ts'

const admin = Management.ofFile()
const EMPTY = { balance: 0, held: 0, available: 0 }
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('an account is created, shown, changed only in the given fields, and listed', async () => {
  const made = await admin.post('/v1/admin/accounts', { name: ' Ada ', email: 'ada@example.org' })
  const account = {
    id: expect.stringMatching(/^acct_[0-9a-z]{26}$/),
    object: 'account',
    name: 'Ada',
    email: 'ada@example.org',
    state: 'active',
    disabled: false,
    disabled_at: null,
    disabled_note: null,
    models: null,
    external_id: null,
    metadata: {},
    billing: null,
    low_balance: null,
    credit: { backed: EMPTY, free: { ...EMPTY, expires_at: null } },
    has_backed_credit: false,
    fee_basis_points: null,
    allowance: null,
    limits: { requests_per_minute: null, in_flight: null, tokens_per_minute: null },
    created_at: TIME,
  }
  expect([made.httpStatus, made.json]).toEqual([201, account])
  const path = `/v1/admin/accounts/${textOf(made.json, 'id')}`
  expect((await admin.get(path)).json).toEqual(made.json)
  expect((await admin.patch(path, { email: null })).json).toEqual({ ...made.json, email: null })
  const renamed = { ...made.json, name: 'Ada L.', email: null }
  expect((await admin.patch(path, { name: 'Ada L.' })).json).toEqual(renamed)
  expect((await admin.patch(path, {})).json).toEqual(renamed)
  expect((await admin.get('/v1/admin/accounts?limit=1')).json).toMatchObject({
    object: 'list',
    data: [renamed],
  })
})

test('accounts are downloaded as CSV with exact dollars, by state', async () => {
  const id = await admin.account(2_500_000)
  await admin.patch(`/v1/admin/accounts/${id}`, { disabled: true, name: 'Late, Ltd' })
  const answer = await fetch(admin.world.url('/v1/admin/accounts?state=suspended&format=csv'), {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  const [head, row = '', ...rest] = (await answer.text()).split('\r\n')
  expect(head).toBe(
    'id,name,email,external_id,state,available,balance,held,free_available,charge,margin,last_request_at,created_at',
  )
  expect(row).toContain(`${id},"Late, Ltd",,,suspended,2.5,2.5,0,0,0,0,,20`)
  expect(rest).toEqual([''])
})

describe('accounts are sorted', () => {
  let ids: readonly string[]

  beforeAll(async () => {
    // Found by their name alone among the accounts of the other tests.
    const made = [3_000_000, 0, 2_000_000].map((creditMicros) => admin.account(creditMicros))
    const [most = '', none = '', some = ''] = await Promise.all(made)
    ids = [most, none, some]
    for (const [place, id] of ids.entries()) {
      await admin.patch(`/v1/admin/accounts/${id}`, { name: `sorted ${'bca'[place]} – ${place}` })
    }
    for (const [id, times] of [[some, 3] as const, [most, 1] as const]) {
      const { text } = await admin.apiKey(id)
      for (let sent = 0; sent < times; sent++) {
        expect((await admin.chat(text)).httpStatus).toBe(200)
      }
    }
  })

  const listed = (query: string) => admin.get(`/v1/admin/accounts?search=sorted&${query}`)
  const placesOf = (answer: Awaited<ReturnType<typeof listed>>) =>
    column(answer, 'id').map((id) => ids.indexOf(String(id)))

  test.each([
    ['-created', null],
    ['name', [2, 0, 1]],
    ['-name', [1, 0, 2]],
    ['available', [1, 2, 0]],
    ['-available', [0, 2, 1]],
    ['last_request', [1, 2, 0]],
    ['charged', [1, 0, 2]],
    ['-margin', [2, 0, 1]],
  ])('by %s, the same in pages and as a whole', async (sort, places) => {
    const whole = await listed(`sort=${sort}`)
    if (places !== null) expect(placesOf(whole)).toEqual(places)
    const paged: number[] = []
    for (let cursor = ''; ; ) {
      const page = await listed(`sort=${sort}&limit=1${cursor}`)
      paged.push(...placesOf(page))
      if (page.json['next_cursor'] === null) break
      cursor = `&cursor=${textOf(page.json, 'next_cursor')}`
    }
    expect(paged).toEqual(placesOf(whole))
  })

  test.each(['-available', 'name', '-charged'])('by %s in CSV too', async (sort) => {
    const path = `/v1/admin/accounts?search=sorted&sort=${sort}&format=csv`
    const answer = await fetch(admin.world.url(path), {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    const lines = (await answer.text()).trim().split('\r\n').slice(1)
    expect(lines.map((line) => line.slice(0, line.indexOf(',')))).toEqual(
      column(await listed(`sort=${sort}`), 'id'),
    )
  })

  test('sorted by charge they have charge and margin, except for a range without requests', async () => {
    const all = await listed('sort=-charged')
    const [most = 0, less = 0, none] = column(all, 'charge').map(Number)
    expect(most).toBe(less * 3)
    expect(none).toBe(0)
    expect(
      column(all, 'margin')
        .map(Number)
        .every((margin) => margin >= 0),
    ).toBe(true)
    const early = await listed('sort=-charged&from=2024-01-01T00:00:00Z&to=2024-02-01T00:00:00Z')
    expect(column(early, 'charge')).toEqual([0, 0, 0])
    expect(column(await listed('sort=name'), 'charge')).toEqual([null, null, null])
  })

  test('and a cursor of another order, or one that was made up, is refused', async () => {
    const cursor = textOf((await listed('sort=-held&limit=1')).json, 'next_cursor')
    const text = (value: string) =>
      writeCursor('accounts', `${Buffer.from(value).toString('hex')}_acct_1`)
    for (const query of [
      ...[`sort=name&cursor=${cursor}`, `cursor=${cursor}`],
      ...[`sort=held&cursor=${text('["held","text"]')}`, `sort=name&cursor=${text('["name",5]')}`],
      ...[`sort=held&cursor=${text('["held",1e300]')}`, `sort=held&cursor=${text('[')}`],
      ...[`sort=name&cursor=${text('["name","\\u0000"]')}`, 'sort=held&cursor=x'],
    ]) {
      const refused = await listed(query)
      expect([query, refused.httpStatus, refused.json]).toEqual([
        ...[query, 400, errorOf('invalid_parameter', 'cursor')],
      ])
    }
    expect((await listed('sort=fee')).json).toEqual(errorOf('invalid_parameter', 'sort'))
  })
})

test('an account is created with the credit below which it is low', async () => {
  const made = await admin.post('/v1/admin/accounts', { name: 'Ada', low_balance: 1_000_000 })
  expect([made.httpStatus, made.json['low_balance']]).toEqual([201, 1_000_000])
  const shown = await admin.get(`/v1/admin/accounts/${textOf(made.json, 'id')}`)
  expect(shown.json).toEqual(made.json)
  const refused = await admin.post('/v1/admin/accounts', { name: 'Ada', low_balance: -1 })
  expect(refused).toEqual(refusal(400, 'invalid_parameter', 'low_balance'))
})

test('credit is added once for a reference that is sent 50 times at the same time', async () => {
  const id = await admin.account()
  const tries = Array.from({ length: 50 }, () =>
    admin.credit(id, { amountMicros: 7_000_000, reference: 'invoice-1' }),
  )
  const answers = await Promise.all(tries)
  const statuses = answers.map(({ httpStatus }) => httpStatus).sort()
  expect(statuses).toEqual([...new Array(49).fill(200), 201])
  expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(1)
  expect(answers[0]?.json).toEqual({
    id: `${id}/1`,
    object: 'entry',
    account_id: id,
    kind: 'top_up',
    amount: 7_000_000,
    purse: 'backed',
    reference: 'invoice-1',
    request_id: null,
    expires_at: null,
    created_at: TIME,
  })
  expect((await admin.get(`/v1/admin/accounts/${id}`)).json).toMatchObject({
    credit: { backed: { balance: 7_000_000, available: 7_000_000 } },
    has_backed_credit: true,
  })
})

test('a reference that was used for another amount is a conflict, and adds no credit', async () => {
  const id = await admin.account(1_000)
  const other = await admin.credit(id, { amountMicros: 1_001, reference: 'first' })
  expect(other).toEqual(refusal(409, 'reference_conflict', 'reference'))
  const inFuture = new Date(Date.now() + 3_600_000).toISOString()
  const free = { kind: 'free', amount: 1_000, expires_at: inFuture, reference: 'first' }
  expect((await admin.post(`/v1/admin/accounts/${id}/credit`, free)).httpStatus).toBe(409)
  expect((await admin.get(`/v1/admin/accounts/${id}`)).json).toMatchObject({
    credit: { backed: { balance: 1_000 }, free: { balance: 0 } },
  })
})

test('a chargeback removes paid credit, below zero if necessary', async () => {
  const id = await admin.account(1_000)
  const back = await admin.credit(id, { amountMicros: -2_500, reference: 'chargeback-1' })
  expect(back).toMatchObject({ httpStatus: 201, json: { kind: 'chargeback', amount: -2_500 } })
  expect((await admin.get(`/v1/admin/accounts/${id}`)).json).toMatchObject({
    credit: { backed: { balance: -1_500, available: 0 } },
    has_backed_credit: true,
  })
})

test('free credit expires, and its repeat is answered even after that', async () => {
  let nowMs = Date.now()
  const later = await Management.start({ clock: { nowMs: () => nowMs } })
  const id = await later.account()
  const path = `/v1/admin/accounts/${id}/credit`
  const expiresAt = new Date(nowMs + 60_000).toISOString()
  const body = { kind: 'free', amount: 500, expires_at: expiresAt, reference: 'gift' }
  const granted = await later.post(path, body)
  expect(granted).toMatchObject({
    httpStatus: 201,
    json: { kind: 'grant', purse: 'free', expires_at: expiresAt },
  })
  nowMs += 60_000
  expect(await later.post(path, body)).toMatchObject({ httpStatus: 200, json: granted.json })
  const late = await later.post(path, { ...body, reference: 'gift-2' })
  expect(late).toEqual(refusal(400, 'invalid_parameter', 'expires_at'))
  expect((await later.get(`/v1/admin/accounts/${id}`)).json).toMatchObject({
    credit: { free: { balance: 0, available: 0 } },
    has_backed_credit: false,
  })
  await later.close()
})

test('a key is created, shown once, changed, and deleted', async () => {
  const id = await admin.account(1_000_000)
  const expires_at = '2999-01-01T00:00:00.000Z'
  const path = `/v1/admin/accounts/${id}/keys`
  const made = await admin.post(path, { name: 'laptop', credit_limit: 5_000, expires_at })
  const { key: text, ...apiKey } = made.json
  expect(text).toMatch(/^sk-tollgate-[0-9A-Za-z]{43}$/)
  expect([made.httpStatus, apiKey]).toEqual([
    201,
    {
      id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
      object: 'key',
      account_id: id,
      name: 'laptop',
      prefix: expect.stringMatching(/^sk-tollgate-.{3}….{4}$/),
      models: null,
      metadata: {},
      state: 'active',
      disabled: false,
      expires_at,
      previous_expires_at: null,
      credit_limit: 5_000,
      spend: 0,
      held: 0,
      allowance: null,
      limits: { requests_per_minute: null, in_flight: null, tokens_per_minute: null },
      default_limits: { requests_per_minute: 300, in_flight: 8 },
      created_at: TIME,
      last_used_at: null,
    },
  ])
  const ofKey = `/v1/admin/keys/${textOf(made.json, 'id')}`
  expect((await admin.get(ofKey)).json).toEqual(apiKey)
  expect((await admin.get(path)).json).toMatchObject({ data: [apiKey], has_more: false })
  const unlimited = { ...apiKey, credit_limit: null, expires_at: null, name: 'desk' }
  const change = { credit_limit: null, expires_at: null, name: 'desk' }
  expect((await admin.patch(ofKey, change)).json).toEqual(unlimited)
  const deleted = await admin.call({ method: 'DELETE', path: ofKey })
  expect(deleted).toMatchObject({ httpStatus: 200, json: { object: 'key', deleted: true } })
  expect((await admin.call({ method: 'DELETE', path: ofKey })).httpStatus).toBe(404)
  expect((await admin.get(ofKey)).httpStatus).toBe(404)
  expect((await admin.get(path)).json).toMatchObject({ data: [] })
})

test('a key works until it expires, and again after its expiry is removed', async () => {
  let nowMs = Date.now()
  const later = await Management.start({ clock: { nowMs: () => nowMs } })
  const id = await later.account(1_000_000)
  const { id: apiKeyId, text } = await later.apiKey(id)
  const ofKey = `/v1/admin/keys/${apiKeyId}`
  const expires_at = new Date(nowMs + 60_000).toISOString()
  expect((await later.patch(ofKey, { expires_at })).httpStatus).toBe(200)
  expect((await later.get('/v1/key', text)).httpStatus).toBe(200)
  nowMs += 60_000
  for (const answer of [await later.chat(text), await later.get('/v1/key', text)]) {
    expect(answer.json).toEqual(errorOf('api_key_expired'))
  }
  for (const call of [
    later.patch(ofKey, { expires_at }),
    later.post(`/v1/admin/accounts/${id}/keys`, { name: 'late', expires_at }),
  ]) {
    const { httpStatus, json } = await call
    expect([httpStatus, json]).toEqual([400, errorOf('invalid_parameter', 'expires_at')])
    expect(json).toMatchObject({ error: { message: '`expires_at` must be in the future.' } })
  }
  await later.patch(ofKey, { expires_at: null })
  expect((await later.get('/v1/key', text)).httpStatus).toBe(200)
  await later.close()
})

test('a change by an admin applies to the very next request of the key', async () => {
  const id = await admin.account(1_000_000)
  const { id: apiKeyId, text } = await admin.apiKey(id)
  const account = `/v1/admin/accounts/${id}`
  const ofKey = `/v1/admin/keys/${apiKeyId}`
  const isRefused = async (code: string) => {
    expect((await admin.chat(text)).json).toEqual(errorOf(code))
    expect((await admin.get('/v1/key', text)).json).toEqual(errorOf(code))
  }
  expect((await admin.chat(text)).httpStatus).toBe(200)
  await admin.patch(account, { disabled: true, note: 'Invoice 7 is open.' })
  await isRefused('account_suspended')
  await admin.patch(account, { disabled: false })
  expect((await admin.chat(text)).httpStatus).toBe(200)
  await admin.patch(ofKey, { disabled: true })
  await isRefused('api_key_disabled')
  await admin.patch(ofKey, { disabled: false, credit_limit: 0 })
  expect((await admin.chat(text)).json).toEqual(errorOf('key_limit_reached'))
  await admin.patch(ofKey, { credit_limit: null })
  expect((await admin.chat(text)).httpStatus).toBe(200)
  await admin.call({ method: 'DELETE', path: ofKey })
  await isRefused('invalid_api_key')
})

test.each([
  ['GET', '/v1/admin/accounts/acct_none'],
  ['PATCH', '/v1/admin/accounts/acct_none', {}],
  ['POST', '/v1/admin/accounts/acct_none/credit', { kind: 'backed', amount: 1, reference: 'r' }],
  ['GET', '/v1/admin/accounts/acct_none/entries'],
  ['POST', '/v1/admin/accounts/acct_none/keys', { name: 'k' }],
  ['GET', '/v1/admin/accounts/acct_none/keys'],
  ['POST', '/v1/admin/accounts/acct_none/redeem', { code: 'ABC' }],
  ['GET', '/v1/admin/keys/key_none'],
  ['PATCH', '/v1/admin/keys/key_none', {}],
  ['DELETE', '/v1/admin/keys/key_none'],
  ['GET', '/v1/admin/codes/code_none'],
  ['DELETE', '/v1/admin/codes/code_none'],
  ['GET', '/v1/admin/requests/req_none'],
  ['POST', '/v1/admin/requests/req_none/settle', { cost: 1 }],
] as const)('%s %s is not found', async (method, path, body?: object) => {
  const answer = await admin.call({ method, path, ...(body === undefined ? {} : { body }) })
  expect(answer).toEqual(refusal(404, 'not_found'))
})
