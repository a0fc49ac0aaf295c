import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createCreditCode } from '../../src/ledger/credit-codes.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { describedOperations } from '../../src/operations/operations.ts'
import { makeLink } from '../../src/people/links.ts'
import { joinAccount } from '../../src/people/users.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type TestAccount, worldOfFile } from '../world.ts'
import {
  Browser,
  errorOf,
  inviteGuest,
  linkParts,
  microsOf,
  type PageAnswer,
  setUpOperator,
} from './page-client.ts'

interface Place {
  readonly account: TestAccount
  readonly apiKeyId: string
  readonly requestId: string
  readonly purchaseId: string
  readonly userId: string
  readonly invitationId: string
}

let own: Place
let another: Place
let browsers: Readonly<Record<'operator' | 'owner' | 'member' | 'stranger' | 'visitor', Browser>>

const world = worldOfFile({
  mode: 'simulator',
  settings: { TOLLGATE_SELLER_NAME: 'Tidewater Compute' },
})
beforeAll(async () => {
  await world.account()
  const operator = await setUpOperator(world)
  own = await place()
  // Beside the owner who leaves the account below.
  await inviteGuest(world, {
    email: 'second@example.org',
    accountId: own.account.id,
    role: 'owner',
  })
  another = await place()
  const of = (email: string, { account: { id: accountId } }: Place, role: 'owner' | 'member') =>
    inviteGuest(world, { email, accountId, role })
  browsers = {
    operator,
    owner: await of('owner@example.org', own, 'owner'),
    member: await of('member@example.org', own, 'member'),
    stranger: await of('stranger@example.org', another, 'owner'),
    visitor: new Browser(world),
  }
})

/** An account with a key and a request. */
async function place(): Promise<Place> {
  const account = await world.account({ apiKeys: 2 })
  const completed = await world.chat(account.apiKey)
  await completed.text()
  const { db } = world.gateway.store
  const requestId = completed.headers.get('x-request-id') ?? ''
  const ofRequest = db.selectFrom('requests').select('api_key_id').where('id', '=', requestId)
  // The key without requests: a test deletes it, and the other one's last use is still listed.
  const { id: apiKeyId } = await db
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', account.id)
    .where('id', 'not in', ofRequest)
    .executeTakeFirstOrThrow()
  const people = { userId: await newMember(account), invitationId: await newInvitation(account) }
  return { account, apiKeyId, requestId, purchaseId: await bought(account), ...people }
}

/** The id of a user who has just become a member of an account. */
async function newMember({ id: accountId }: TestAccount): Promise<string> {
  const email = `guest-${world.gateway.ids.next('user')}@example.org`
  return userIdOf(await inviteGuest(world, { email, accountId, role: 'member' }))
}

async function userIdOf(browser: Browser): Promise<string> {
  return Object((await browser.get('me')).json['user']).id
}

/** The id of an invitation to an account that was not accepted. */
async function newInvitation({ id: accountId }: TestAccount): Promise<string> {
  const membership = { accountId, role: 'member' } as const
  const email = `open-${world.gateway.ids.next('user')}@example.org`
  await makeLink(linkParts(world), { kind: 'invitation', email, isOperator: false, membership })
  const { id } = await world.gateway.store.db
    .selectFrom('links')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  return id
}

/** The id of a purchase that was paid with play money. */
async function bought({ apiKey }: TestAccount): Promise<string> {
  const asked = { method: 'card', amount: 25_000_000 }
  const begun = await world.send(apiKey, asked, '/v1/credit/purchases')
  const { purchase, url } = Object(await begun.json())
  await pay(url)
  return purchase.id
}

/** Pays with play money. */
async function pay(page: string): Promise<void> {
  const { pathname, search } = new URL(page)
  const headers = { origin: new URL(world.url('/')).origin }
  await fetch(world.url(pathname + search), { method: 'POST', headers })
}

/** Every operation of the page, as a list made without a process has it. */
const OPERATIONS_OF_MEMBERS = describedOperations().filter(
  ({ paths }) => paths.member !== undefined,
)

function callOf(
  { method, paths, example }: Operation,
  { account, apiKeyId, requestId, purchaseId, userId, invitationId }: Place,
): { readonly method: string; readonly path: string; readonly body: object } {
  const path = (paths.member ?? '')
    .replace('/app/api/', '')
    .replace('{account_id}', account.id)
    .replace('{key_id}', apiKeyId)
    .replace('{request_id}', requestId)
    .replace('{purchase_id}', purchaseId)
    .replace('{user_id}', userId)
    .replace('{invitation_id}', invitationId)
  return { method, path, body: example ?? {} }
}

/** A call that succeeds: codes of an example are replaced by existing ones, and removed things by new ones. */
async function workingCall(operation: Operation): Promise<ReturnType<typeof callOf>> {
  const call = callOf(operation, own)
  if (operation.name === 'redeemCode') return { ...call, body: { code: await newCode() } }
  const { account } = own
  if (operation.name === 'removeMember') {
    return callOf(operation, { ...own, userId: await newMember(account) })
  }
  if (operation.name === 'withdrawInvitation') {
    return callOf(operation, { ...own, invitationId: await newInvitation(account) })
  }
  if (operation.name !== 'resumePurchase') return call
  return callOf(operation, { ...own, purchaseId: await begunPurchase() })
}

/** The id of a purchase by an owner of an account that is not paid yet. */
async function begunPurchase(owner = browsers.owner, { account } = own): Promise<string> {
  const sent = { method: 'card', amount: 5_000_000 }
  const { json } = await owner.post(`accounts/${account.id}/purchases`, sent)
  return String(Object(json['purchase']).id)
}

/** The text of a credit code of five dollars. */
async function newCode(): Promise<string> {
  const { ledger, ids } = world.gateway
  const made = { id: ids.next('code'), amountMicros: micros(5_000_000), expiresAtMs: null }
  return (await createCreditCode(ledger, made)).text
}

// Deletions go last, so that the other calls find their objects.
const NAMED = OPERATIONS_OF_MEMBERS.toSorted((a, b) =>
  a.method === 'DELETE' ? 1 : b.method === 'DELETE' ? -1 : 0,
).map((each) => [each.name, each] as const)

test('the page has operations on accounts, keys, Activity and credit', () => {
  expect(NAMED.map(([name]) => name)).toEqual(
    expect.arrayContaining(['getAccount', 'createKey', 'deleteKey', 'listRequests', 'listEntries']),
  )
})

describe.each(NAMED)('%s', (_, operation) => {
  test('is 401 without a session', async () => {
    const { method, path, body } = callOf(operation, own)
    const answer = await browsers.visitor.call(method, path, { body })
    expect(errorOf(answer)).toEqual({ httpStatus: 401, code: 'not_signed_in', param: null })
  })

  test('is 404 for a user of another account, and for everyone if the ID is unknown', async () => {
    const { method, path, body } = callOf(operation, own)
    const answer = await browsers.stranger.call(method, path, { body })
    expect(errorOf(answer)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
    const unknown = { ...own, account: { ...own.account, id: 'acct_unknown' } }
    const none = callOf(operation, unknown)
    for (const browser of [browsers.stranger, browsers.operator]) {
      const nothing = await browser.call(none.method, none.path, { body })
      expect(errorOf(nothing)).toEqual(errorOf(answer))
    }
  })

  test("is 404 for another account's key, request or purchase, by the path of one's own account", async () => {
    const { method, path, body } = callOf(operation, { ...another, account: own.account })
    // Or it names nothing but the account.
    if (!/key_|req_|pur_|user_|link_/.test(path))
      return expect(path).toBe(callOf(operation, own).path)
    const { member, owner, operator } = browsers
    for (const browser of operation.needsOwner ? [owner, operator] : [member, owner, operator]) {
      const answer = await browser.call(method, path, { body })
      expect(errorOf(answer)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
    }
  })

  test(`is answered to ${operation.needsOwner ? '' : 'a member, '}an owner and an operator`, async () => {
    if (operation.needsOwner) {
      const { method, path, body } = callOf(operation, own)
      const answer = await browsers.member.call(method, path, { body })
      expect(errorOf(answer)).toEqual({ httpStatus: 403, code: 'owner_required', param: null })
    }
    const { member, owner, operator } = browsers
    for (const browser of operation.needsOwner ? [owner, operator] : [member, owner, operator]) {
      const { method, path, body } = await workingCall(operation)
      const isLeaving = operation.name === 'leaveAccount'
      if (isLeaving && browser === operator) await rejoin(browser, 'member')
      const answer = await browser.call(method, path, { body })
      expect(answer.text).not.toContain('"error"')
      expect([200, 201]).toContain(answer.httpStatus)
      if (isLeaving && browser !== operator)
        await rejoin(browser, browser === owner ? 'owner' : 'member')
      if (method === 'DELETE') own = { ...own, apiKeyId: await newKey(browser) }
    }
  })
})

async function rejoin(browser: Browser, role: 'member' | 'owner'): Promise<void> {
  const [userId, nowMs] = [await userIdOf(browser), Date.now()]
  const { db } = world.gateway.store
  await joinAccount(db, { userId, accountId: own.account.id, role, nowMs })
}

async function newKey(browser: Browser): Promise<string> {
  const { json } = await browser.post(`accounts/${own.account.id}/keys`, { name: 'next' })
  return String(json['id'])
}

test('the secret of a key is in the answer that created it, and in no later answer, log or file of the store', async () => {
  const path = `accounts/${own.account.id}/keys`
  const { json } = await browsers.member.post(path, { name: 'laptop', credit_limit: 5_000_000 })
  const text = String(json['key'])
  expect(text).toMatch(/^sk-tollgate-\w{43}$/)
  const used = await fetch(world.url('/v1/key'), { headers: { authorization: `Bearer ${text}` } })
  expect(await used.json()).toMatchObject({ name: 'laptop', credit_limit: 5_000_000 })
  const later = [
    await browsers.member.get(path),
    await browsers.member.get(`${path}/${json['id']}`),
    await browsers.member.call('PATCH', `${path}/${json['id']}`, { body: { name: 'desk' } }),
  ]
  const secretPart = text.slice('sk-tollgate-'.length)
  for (const answer of later) expect(answer.text).not.toContain(secretPart)
  expect(world.log.join('\n')).not.toContain(secretPart)
  for (const file of readdirSync(world.folder)) {
    expect(readFileSync(join(world.folder, file)).includes(secretPart)).toBe(false)
  }
})

test('a key that the page disables is refused from its next request on', async () => {
  const { json } = await browsers.owner.post(`accounts/${own.account.id}/keys`, { name: 'short' })
  const ask = () =>
    fetch(world.url('/v1/key'), { headers: { authorization: `Bearer ${json['key']}` } })
  expect((await ask()).status).toBe(200)
  const path = `accounts/${own.account.id}/keys/${json['id']}`
  await browsers.owner.call('PATCH', path, { body: { disabled: true } })
  expect((await ask()).status).toBe(401)
})

test("a key's last use is when its latest request opened its hold", async () => {
  const { json } = await browsers.member.get(`accounts/${own.account.id}/keys`)
  const request = await browsers.member.get(`accounts/${own.account.id}/requests/${own.requestId}`)
  const lastUses = Object(json['data']).map((each: object) => Object(each).last_used_at)
  expect(lastUses).toContain(request.json['opened_at'])
  expect(lastUses).toContain(null)
})

test("Activity is downloaded as CSV, only of the user's own account, and an unknown filter is refused", async () => {
  const path = `accounts/${own.account.id}/requests.csv`
  const { text, headers } = await browsers.member.get(path)
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toBe('attachment')
  expect(text).toContain(`\r\n${own.requestId},`)
  const named = `?account=${another.account.id}`
  const list = await browsers.member.get(path.replace('.csv', named))
  for (const each of [text, (await browsers.member.get(path + named)).text, list.text]) {
    expect(each).toContain(own.requestId)
    expect(each).not.toContain(another.requestId)
  }
  expect((await browsers.member.get(`${path}?model=sim/none`)).text).not.toContain('req_')
  expect(errorOf(await browsers.member.get(`${path}?limit=5`))).toMatchObject({ param: 'limit' })
  // A HEAD would read all of it, with no client that takes it.
  expect((await fetch(world.url(`/app/api/${path}`), { method: 'HEAD' })).status).toBe(404)
})

test('a receipt has the payment, the credit, its buyer, and the seller of the settings', async () => {
  const path = `accounts/${own.account.id}/purchases/${own.purchaseId}/receipt`
  expect((await browsers.member.get(path)).json).toMatchObject({
    purchase: {
      id: own.purchaseId,
      state: 'credited',
      credit: 25_000_000,
      paid: { currency: 'usd', units: '2500', decimals: 2 },
    },
    number: expect.stringMatching(/^R-\d{4}-\d{4}$/),
    seller: { name: 'Tidewater Compute', tax_id: null },
    ...{ fee: 0, tax: null, buyer: { name: 'test', address: null, tax_id: null } },
  })
  const unpaid = await browsers.member.get(path.replace(own.purchaseId, await begunPurchase()))
  expect(errorOf(unpaid)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
  // As a 0.2.0 leaves it that credits after the migration.
  await world.gateway.store.db.updateTable('purchases').set({ receipt_number: null }).execute()
  expect((await browsers.member.get(path)).json).toMatchObject({ number: null })
})

test('a payment that was left can be continued at its own page until it is paid, and is looked up at once', async () => {
  const { stranger: owner } = browsers
  const purchaseId = await begunPurchase(owner, another)
  const purchase = `accounts/${another.account.id}/purchases/${purchaseId}`
  const path = `${purchase}/page`
  expect((await owner.get(purchase)).json).toMatchObject({ id: purchaseId, state: 'open' })
  await pay(String((await owner.get(path)).json['url']))
  for (const looked of await Promise.all([owner.get(purchase), owner.get(purchase)])) {
    expect(looked.json).toMatchObject({ id: purchaseId, state: 'credited', credit: 5_000_000 })
  }
  const foreign = await browsers.owner.get(`accounts/${own.account.id}/purchases/${purchaseId}`)
  expect(errorOf(foreign)).toEqual({ httpStatus: 404, code: 'not_found', param: null })
  const paid = await owner.get(path)
  // A payment that succeeded must not read as one to repeat.
  expect(JSON.stringify(paid.json)).toContain('was already paid or has expired')
  expect(errorOf(paid)).toEqual({
    httpStatus: 409,
    code: 'purchase_not_open',
    param: null,
  })
})

test("a code is redeemed once by an owner, and a user's sixth try in a minute is refused", async () => {
  const account = await world.account()
  const of = (email: string) => inviteGuest(world, { email, accountId: account.id, role: 'owner' })
  const [eve, mallory] = [await of('eve@example.org'), await of('mallory@example.org')]
  const path = `accounts/${account.id}/redeem`
  const code = await newCode()
  const redeemed = await eve.post(path, { code })
  expect(redeemed.httpStatus).toBe(201)
  expect(redeemed.json).toMatchObject({ kind: 'activation', amount: 5_000_000, purse: 'backed' })
  const again = await eve.post(path, { code })
  expect(again.httpStatus).toBe(200)
  expect(again.json).toEqual(redeemed.json)
  for (let tried = 2; tried < 5; tried++) {
    const wrong = await eve.post(path, { code: `WRONG-${tried}` })
    expect(errorOf(wrong)).toEqual({ httpStatus: 404, code: 'unknown_credit_code', param: 'code' })
  }
  const sixth = await eve.post(path, { code: await newCode() })
  expect(errorOf(sixth)).toEqual({ httpStatus: 429, code: 'rate_limited', param: null })
  expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await mallory.post(path, { code: await newCode() })).httpStatus).toBe(201)
  const { json } = await eve.get(`accounts/${account.id}/balance`)
  expect(json).toMatchObject({ total: { balance: 20_000_000 } })
})

test('entries have the balance after each, and their CSV adds up to the balance to the micro-dollar', async () => {
  await world.gateway.settled()
  const path = `accounts/${own.account.id}`
  const { json } = await browsers.member.get(`${path}/balance`)
  const balanceMicros: number = Object(json['total']).balance
  const pages = []
  let cursor = ''
  do {
    const page: PageAnswer = await browsers.member.get(`${path}/entries?limit=2${cursor}`)
    pages.push(...(page.json['data'] as readonly StatementLine[]))
    cursor = page.json['next_cursor'] === null ? '' : `&cursor=${page.json['next_cursor']}`
  } while (cursor !== '')
  expect(pages[0]?.balance).toBe(balanceMicros)
  for (const [place, line] of pages.entries()) {
    expect(line.balance - line.amount).toBe(pages[place + 1]?.balance ?? 0)
  }
  const { text, headers } = await browsers.member.get(`${path}/entries.csv`)
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
  const column = (name: string) => rows.map((row) => microsOf(row[head.indexOf(name)] ?? ''))
  expect(column('amount')).toEqual(pages.map(({ amount }) => amount))
  expect(column('balance')).toEqual(pages.map(({ balance }) => balance))
  expect(column('amount').reduce((sum, amount) => sum + amount, 0)).toBe(balanceMicros)
})

type StatementLine = Readonly<Record<'amount' | 'balance', number>>

test('a cursor of another list, or one that was changed, is refused', async () => {
  const path = `accounts/${own.account.id}`
  for (const text of ['entries 5', 'purchases 5', 'entries 5_99999999999999999', 'entries 5_x']) {
    const cursor = Buffer.from(text).toString('base64url')
    const answer = await browsers.member.get(`${path}/entries?cursor=${cursor}`)
    expect(errorOf(answer)).toMatchObject({ httpStatus: 400, param: 'cursor' })
  }
})
