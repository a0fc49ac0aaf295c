import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/operations/operation.ts'
import { describedOperations } from '../../src/operations/operations.ts'
import { createAdminToken } from '../../src/people/admin-tokens.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type TestAccount, worldOfFile } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

/** Operators' actions on the page, and their audit log. */

let account: TestAccount
let operator: Browser
let owner: Browser
/** Everyone who is signed in and no operator. */
let others: readonly Browser[]
const visitor = () => new Browser(world)
/** How far the gateway's clock is ahead. */
let aheadMs = 0

const world = worldOfFile(() => ({
  mode: 'simulator',
  settings: { TOLLGATE_LOOKUPS: 'all', ADMIN_API_TOKEN: 'admin-token-of-the-test' },
  clock: { nowMs: () => Date.now() + aheadMs },
}))
beforeAll(async () => {
  world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  // The first operator of a gateway with play money owns its first account.
  const { id: othersId } = await world.account()
  account = await world.account()
  operator = await setUpOperator(world)
  const { id: accountId } = account
  owner = await inviteGuest(world, { email: 'owner@example.org', accountId, role: 'owner' })
  const elsewhere = { email: 'stranger@example.org', accountId: othersId, role: 'owner' } as const
  const member = { email: 'member@example.org', accountId: othersId, role: 'member' } as const
  others = [owner, await inviteGuest(world, elsewhere), await inviteGuest(world, member)]
})
afterAll(async () => {
  await world.gateway.settled()
  expect(await world.audit()).toMatchObject({ ok: true })
})

const OPERATIONS_OF_OPERATORS = describedOperations().filter(
  ({ paths }) => paths.operator !== undefined,
)

const NAMED = OPERATIONS_OF_OPERATORS.map((each) => [each.name, each] as const)

/** Makes what an operation names, and its call. */
async function callOf({ method, paths, example, name }: Operation) {
  let path = (paths.operator ?? '').replace('/app/api/', '')
  const body: Record<string, unknown> = { ...example }
  path = path.replace('{account_id}', account.id)
  if (path.includes('{key_id}')) path = path.replace('{key_id}', await newKeyId())
  if (path.includes('{request_id}')) path = path.replace('{request_id}', await newRequestId())
  if (path.includes('{code_id}')) path = path.replace('{code_id}', (await newCode()).id)
  if (path.includes('{token_id}')) path = path.replace('{token_id}', (await newToken()).id)
  if (path.includes('{webhook_id}')) path = path.replace('{webhook_id}', await newWebhookId())
  if (path.includes('{purchase_id}')) {
    path = path.replace('{purchase_id}', await world.purchase(account.id, HOLD))
  }
  if (name === 'redeemCode') body['code'] = (await newCode()).code
  if (name === 'removeUser') await inviteEve()
  if (path.includes('{invitation_id}')) path = path.replace('{invitation_id}', await inviteEve())
  return { method, path, body }
}

/** Makes an invitation for a person who is removed, or whose invitation is withdrawn. Returns its ID. */
async function inviteEve(): Promise<string> {
  await signInAgain()
  await operator.post('operator/invitations', { email: 'eve@example.org', operator: true })
  return Object((await operator.get('operator/invitations')).json['data'])[0].id
}

const HOLD = {
  kind: 'hold',
  reason: 'paid in another currency',
  worthMicros: micros(25_000_000),
} as const

async function newKeyId(): Promise<string> {
  const { json } = await owner.post(`accounts/${account.id}/keys`, { name: 'made for a test' })
  return String(json['id'])
}

async function newRequestId(): Promise<string> {
  const answer = await world.chat(account.apiKey)
  await answer.text()
  await world.gateway.settled()
  return answer.headers.get('x-request-id') ?? ''
}

async function newCode(): Promise<{ readonly id: string; readonly code: string }> {
  await signInAgain()
  const { json } = await operator.post('operator/codes', { amount: 1_000_000 })
  return { id: String(json['id']), code: String(json['code']) }
}

/** A webhook of a receiver whose name has no address. */
async function newWebhookId(): Promise<string> {
  // There can be few of them.
  const { json: all } = await operator.get('operator/webhooks')
  for (const { id } of Object(all['data'])) {
    await operator.call('DELETE', `operator/webhooks/${id}`, { body: {} })
  }
  const { json } = await operator.post('operator/webhooks', { url: 'https://receiver.invalid/' })
  return String(json['id'])
}

/** An admin token, as the command line makes it. */
async function newToken(): Promise<{ readonly id: string; readonly text: string }> {
  const { store, ids } = world.gateway
  const { adminToken, text } = await createAdminToken(
    { db: store.db, ids, clock: { nowMs: Date.now } },
    { name: 'shop', scopes: ['keys'], expiresAtMs: null, madeBy: null, by: null },
  )
  return { id: adminToken.id, text }
}

const signInAgain = () => operator.post('auth/confirm', { password: ADA.password })

async function actions(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { json } = await operator.get('operator/actions?limit=100')
  return Object(json['data'])
}

test('an operator sees who the members of an account are', async () => {
  const { json } = await operator.get(`operator/accounts/${account.id}/members`)
  expect(json['data']).toMatchObject([
    { object: 'member', email: 'owner@example.org', role: 'owner', joined_at: expect.any(String) },
  ])
  const unknown = await operator.get('operator/accounts/acct_unknown/members')
  expect(errorOf(unknown)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
})

test('operators have the operations of admins on accounts, credit, codes, requests and upkeep', () => {
  const ofAdmins = describedOperations().filter(
    ({ paths }) => paths.admin !== undefined && paths.operator === undefined,
  )
  // Passwords are reset by the command line and the admin API, and payments are compared there. Requests
  // have operations for operators, with the names of accounts and keys.
  expect(ofAdmins.map(({ name }) => name).sort()).toEqual([
    'changeMember',
    'checkSale',
    'createAdminToken',
    'createResetLink',
    'getRequest',
    'listDepositAddresses',
    'listRequests',
  ])
  for (const { name, paths } of OPERATIONS_OF_OPERATORS) {
    // The chart of the page has the address of the report.
    if (paths.admin === undefined || name === 'getAllUsage') continue
    expect(paths.operator).toBe(paths.admin.replace('/v1/admin', '/app/api/operator'))
  }
})

describe.each(NAMED)('%s', (_, operation) => {
  test('is 401 without a session, and 404 for owners, members and strangers, like a path that does not exist', async () => {
    const { method, path, body } = await callOf(operation)
    const unknown = await visitor().call(method, path, { body })
    expect(errorOf(unknown)).toEqual({ httpStatus: 401, code: 'not_signed_in', param: null })
    for (const other of others) {
      const refused = await other.call(method, path, { body })
      expect(errorOf(refused)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
      const nothing = await other.call(method, 'operator/nothing', { body })
      expect(refused.json).toEqual(nothing.json)
    }
  })

  test('is answered to an operator, and recorded if it changes something', async () => {
    const { method, path, body } = await callOf(operation)
    await signInAgain()
    const before = await actions()
    const answer = await operator.call(method, path, { body })
    expect(answer.text).not.toContain('"error"')
    expect([200, 201, 202]).toContain(answer.httpStatus)
    const known = new Set(before.map(({ id }) => id))
    const recorded = (await actions()).filter(({ id }) => !known.has(id))
    const names = recorded.map(({ action, user_name }) => `${user_name}: ${action}`)
    const isRefresh = operation.name === 'refreshCatalog'
    const expected = new Array(isRefresh ? 2 : 1).fill(`Ada: ${operation.name}`)
    expect(names).toEqual(method === 'GET' ? [] : expected)
  })
})

describe('the audit log', () => {
  test('names the person, the change, its amount and its time, and no secret', async () => {
    await signInAgain()
    const { json: entry } = await operator.post(`operator/accounts/${account.id}/credit`, {
      kind: 'backed',
      amount: -2_500_000,
      reference: 'chargeback-7',
    })
    expect((await actions())[0]).toEqual({
      id: expect.stringMatching(/^act_[0-9a-z]{26}$/),
      object: 'operator_action',
      user_id: expect.stringMatching(/^user_/),
      user_name: 'Ada',
      user_email: expect.stringMatching(/@/),
      token_id: null,
      token_name: null,
      action: 'addCredit',
      account_id: account.id,
      account_name: expect.any(String),
      target_id: null,
      amount: -2_500_000,
      detail: { purse: 'backed', reference: 'chargeback-7', expires_at: null },
      before: { balance: expect.any(Number) },
      created_at: entry['created_at'],
    })
    const { id, code } = await newCode()
    await operator.post(`operator/accounts/${account.id}/redeem`, { code })
    const key = await operator.post(`operator/accounts/${account.id}/keys`, { name: 'desk' })
    const text = JSON.stringify(await actions())
    expect(text).toContain(id)
    for (const secret of [code, String(key.json['key']), ADA.password]) {
      expect(text).not.toContain(secret)
    }
  })

  test('has a settled request with its cost and charge', async () => {
    const requestId = await newRequestId()
    await signInAgain()
    await operator.post(`operator/requests/${requestId}/settle`, { cost: '0.002' })
    expect((await actions())[0]).toMatchObject({
      action: 'settleRequest',
      account_id: account.id,
      target_id: requestId,
      amount: 2_100,
      detail: { provider_cost: '0.002' },
    })
  })

  test('leaves out calls that were refused or changed nothing', async () => {
    await signInAgain()
    const grant = { kind: 'backed', amount: 7, reference: 'once' }
    const path = `operator/accounts/${account.id}`
    await operator.post(`${path}/credit`, grant)
    const before = await actions()
    expect((await operator.post(`${path}/credit`, grant)).httpStatus).toBe(200)
    expect((await operator.post(`${path}/credit`, { ...grant, amount: 8 })).httpStatus).toBe(409)
    expect((await operator.post('operator/accounts', { name: '' })).httpStatus).toBe(400)
    const nothing = await operator.call('PATCH', 'operator/accounts/acct_none', { body: {} })
    expect(nothing.httpStatus).toBe(404)
    expect(await actions()).toEqual(before)
  })

  test("includes an operator's changes on the pages of other people's accounts, and no owner's", async () => {
    const path = `accounts/${account.id}/keys`
    const before = await actions()
    await owner.post(path, { name: 'of the owner' })
    expect(await actions()).toEqual(before)
    const made = await operator.post(path, { name: 'of the operator' })
    expect((await actions())[0]).toMatchObject({
      action: 'createKey',
      account_id: account.id,
      target_id: made.json['id'],
      detail: { name: 'of the operator' },
    })
    const own = await operator.post('operator/own-accounts', { name: 'Own' })
    expect((await actions())[0]).toMatchObject({
      action: 'createOwnAccount',
      target_id: own.json['id'],
    })
    await operator.post(`accounts/${own.json['id']}/keys`, { name: 'of a member' })
    expect((await actions())[0]).toMatchObject({ action: 'createOwnAccount' })
  })

  test('is read page by page, for all accounts or one', async () => {
    const first = await operator.get('operator/actions?limit=1')
    const second = await operator.get(
      `operator/actions?limit=1&cursor=${first.json['next_cursor']}`,
    )
    const all = await actions()
    expect([first, second].flatMap(({ json }) => Object(json['data']))).toEqual(all.slice(0, 2))
    const { json } = await operator.get(`operator/actions?limit=100&account=${account.id}`)
    expect(json['data']).toEqual(all.filter(({ account_id }) => account_id === account.id))
  })
})

test('an operator sees admin tokens without their text, and a revoked token is refused from then on', async () => {
  const post = async (path: string, bearer: string, body: object) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    return fetch(world.url(`/v1/admin/${path}`), sent)
  }
  const made = await post('tokens', 'admin-token-of-the-test', { name: 'shop', scopes: ['keys'] })
  const { id, token: text } = Object(await made.json())
  const call = async () =>
    (await post(`accounts/${account.id}/keys`, text, { name: 'by a token' })).status
  expect(await call()).toBe(201)
  const listed = await operator.get('operator/tokens')
  expect(Object(listed.json['data'])[0]).toMatchObject({ id, name: 'shop', revoked_at: null })
  expect(listed.text).not.toContain(text)
  const revoked = await operator.call('DELETE', `operator/tokens/${id}`, { body: {} })
  expect(revoked.json).toMatchObject({ id, revoked_at: expect.any(String) })
  expect(await call()).toBe(401)
})

describe('a sign-in of more than ten minutes ago', () => {
  afterEach(signInAgain)

  test.each([
    ['a grant', 'accounts/{account}/credit', { kind: 'backed', amount: 5, reference: 'late' }],
    [
      'a chargeback',
      'accounts/{account}/credit',
      { kind: 'backed', amount: -5, reference: 'late-chargeback' },
    ],
    ['a code', 'codes', { amount: 5 }],
    ['a settlement', 'requests/{request}/settle', { cost: 0 }],
  ])('is not enough for %s until the password is entered again', async (_, path, body) => {
    const requestId = await newRequestId()
    const place = path.replace('{account}', account.id).replace('{request}', requestId)
    await signInAgain()
    aheadMs += 10 * 60_000
    const before = await actions()
    const late = await operator.post(`operator/${place}`, body)
    expect(errorOf(late)).toEqual({ httpStatus: 403, code: 'sign_in_again', param: null })
    expect(await actions()).toEqual(before)
    const wrong = await operator.post('auth/confirm', { password: 'a wrong password' })
    expect(errorOf(wrong)).toEqual({ httpStatus: 401, code: 'invalid_sign_in', param: 'password' })
    expect((await operator.post(`operator/${place}`, body)).httpStatus).toBe(403)
    expect((await signInAgain()).httpStatus).toBe(200)
    expect([200, 201]).toContain((await operator.post(`operator/${place}`, body)).httpStatus)
  })
})

describe('the list of accounts', () => {
  const found = async (search: string) => {
    const path = `operator/accounts?search=${encodeURIComponent(search)}`
    const { json } = await operator.get(path)
    return Object(json['data']).map((each: object) => Object(each).name)
  }

  test('is searched by a part of a name, an email address or an id', async () => {
    const named = { name: 'Zürich & Söhne 100%', email: 'Books@Zurich.example' }
    const { json } = await operator.post('operator/accounts', named)
    for (const part of ['zürich &', 'SöHNE', '100%', 'books@', String(json['id']).slice(8)]) {
      expect(await found(part)).toEqual([named.name])
    }
    for (const part of ['100_', '%%%', "'; drop table accounts; --", 'nothing like it']) {
      expect(await found(part)).toEqual([])
    }
  })

  test('has the charge of each account in the last 30 days, as in its Overview, and its last request', async () => {
    await newRequestId()
    const { json } = await operator.get('operator/accounts?limit=100')
    const overview = await operator.get(`accounts/${account.id}/overview`)
    const listed = Object(json['data']).find((each: object) => Object(each).id === account.id)
    expect(listed.charge).toBeGreaterThan(0)
    expect(listed.charge).toBe(Object(overview.json['figures']).charge)
    const requests = await operator.get(`operator/requests?account=${account.id}&limit=1`)
    expect(listed.last_request_at).toBe(Object(requests.json['data'])[0].opened_at)
  })
})

test('unsettled requests of all accounts are listed, oldest first, with their holds and deadlines', async () => {
  const [first, second] = [await newRequestId(), await newRequestId()]
  const listed = async () => {
    const { json } = await operator.get('operator/unsettled?limit=100')
    const data: readonly Readonly<Record<string, unknown>>[] = Object(json['data'])
    return data.filter(({ id }) => id === first || id === second)
  }
  const [one] = await listed()
  expect((await listed()).map(({ id }) => id)).toEqual([first, second])
  expect(one).toMatchObject({ state: 'provisional', account_id: account.id })
  const endedAtMs = Date.parse(String(one?.['ended_at']))
  expect(one?.['stands_at']).toBe(
    new Date(endedAtMs + world.config.TOLLGATE_SETTLE_AFTER_MS).toISOString(),
  )
  expect(Date.parse(String(one?.['next_lookup_by']))).toBeGreaterThan(endedAtMs)
  await signInAgain()
  await operator.post(`operator/requests/${first}/settle`, { cost: 0 })
  expect((await listed()).map(({ id }) => id)).toEqual([second])
})

test('health has the checks of /readyz, the catalog and the unsettled holds', async () => {
  await newRequestId()
  const { json } = await operator.get('operator/health')
  const readiness = await fetch(world.url('/readyz'))
  expect(await readiness.json()).toMatchObject({ ready: json['ready'], checks: json['checks'] })
  expect(json).toMatchObject({
    mode: 'simulator',
    store: 'sqlite',
    catalog: {
      ...{ models: expect.any(Number), refreshed_at: expect.any(String), doubted: [] },
      fee_basis_points: { least: 500, most: 500 },
    },
    costs: { lookups: 'all', doubted: [], key_usage_agrees: null },
    holds: [
      { state: 'open', requests: 0, held: 0, oldest_opened_at: null },
      { state: 'provisional', held: 0, oldest_opened_at: expect.any(String) },
      { state: 'unresolved', requests: 0 },
    ],
  })
})
