import { describe, expect, onTestFinished, test } from 'vitest'
import { lookAtLink, makeLink, removeExpiredLinks } from '../../src/people/links.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { startWorld, type World, type WorldInput } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

async function open(input: WorldInput = {}): Promise<World> {
  const world = await startWorld(input)
  onTestFinished(() => world.close())
  return world
}

const OWN_ACCOUNTS = 'operator/own-accounts'
const PERSON = { name: 'Ada', ...ADA }
const INVALID = { httpStatus: 404, code: 'invalid_link', param: null }

test('a setup link makes the first operator, who is signed in by it', async () => {
  const world = await open()
  const visitor = new Browser(world)
  expect((await visitor.get('start')).json).toMatchObject({ setup_needed: true, signed_in: false })

  const browser = await setUpOperator(world)
  const { json } = await browser.get('me')
  expect(json).toMatchObject({
    object: 'me',
    user: { name: 'Ada', email: ADA.email, is_operator: true },
    accounts: [],
    sells_credit: false,
    base_url: world.gateway.address,
  })
  expect((await browser.get('start')).json).toMatchObject({ setup_needed: false, signed_in: true })
})

test('an operator creates and owns an account in one recorded change, and a member has no such call', async () => {
  const world = await open()
  const browser = await setUpOperator(world)
  const { httpStatus, json } = await browser.post(OWN_ACCOUNTS, { name: 'Research' })
  expect([httpStatus, json['name']]).toEqual([201, 'Research'])
  const accountId = String(json['id'])
  expect((await browser.get('me')).json['accounts']).toEqual([
    { id: accountId, name: 'Research', role: 'owner', disabled: false },
  ])
  expect((await browser.get(`operator/actions?account=${accountId}`)).json['data']).toMatchObject([
    {
      action: 'createOwnAccount',
      account_id: accountId,
      detail: { name: 'Research', owner: expect.stringMatching(/^user_/) },
    },
  ])
  expect(errorOf(await browser.post(OWN_ACCOUNTS, { name: '' }))).toMatchObject({
    code: 'invalid_parameter',
    param: 'name',
  })
  const guest = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'member' })
  expect((await guest.post(OWN_ACCOUNTS, { name: 'Own' })).httpStatus).toBe(404)
  expect((await new Browser(world).post(OWN_ACCOUNTS, { name: 'Own' })).httpStatus).toBe(401)
})

test('a member who is invited as an owner becomes one, and an owner stays one', async () => {
  const world = await open()
  await setUpOperator(world)
  const { id: accountId } = await world.account()
  const email = 'eve@example.org'
  for (const [role, after] of [
    ['member', 'member'],
    ['owner', 'owner'],
    ['member', 'owner'],
  ] as const) {
    const guest = await inviteGuest(world, { email, accountId, role })
    expect((await guest.get('me')).json['accounts']).toMatchObject([{ id: accountId, role: after }])
  }
})

test('a setup link works once, and no setup link works once there is a user', async () => {
  const world = await open()
  const used = await makeLink(linkParts(world), { kind: 'setup' })
  const left = await makeLink(linkParts(world), { kind: 'setup' })
  const browser = new Browser(world)
  expect((await browser.post('setup', { token: used.text, ...PERSON })).httpStatus).toBe(201)
  for (const token of [used.text, left.text, 'made-up', '']) {
    const other = { ...PERSON, email: 'mallory@example.org' }
    const answer = await new Browser(world).post('setup', { token, ...other })
    expect(errorOf(answer)).toEqual(INVALID)
  }
})

test('a setup link ends after a day', async () => {
  const world = await open()
  const clock = { nowMs: () => Date.now() - 24 * 60 * 60_000 - 1 }
  const { text: token } = await makeLink({ ...linkParts(world), clock }, { kind: 'setup' })
  const answer = await new Browser(world).post('setup', { token, ...PERSON })
  expect(errorOf(answer)).toEqual(INVALID)
})

test('a refused form leaves the setup link as it was, and names the field', async () => {
  const world = await open()
  const { text: token } = await makeLink(linkParts(world), { kind: 'setup' })
  const browser = new Browser(world)
  for (const [param, value] of [
    ['password', 'too short'],
    ['password', 'x'.repeat(129)],
    ['email', 'ada'],
    ['name', ''],
    ['name', '\u0000'],
  ]) {
    const answer = await browser.post('setup', { token, ...PERSON, [param ?? '']: value })
    expect(errorOf(answer)).toEqual({ httpStatus: 400, code: 'invalid_parameter', param })
  }
  expect((await browser.post('setup', { token, ...PERSON })).httpStatus).toBe(201)
})

test('of two setup links that are used at the same time in two processes, one works', async () => {
  const database = await MADE_DATABASES.find(({ engine }) => engine === 'PostgreSQL')?.create()
  if (database === undefined) throw new Error('there is no PostgreSQL')
  onTestFinished(() => database.remove())
  const settings = { DATABASE_URL: database.url }
  const worlds = [await open({ settings }), await open({ settings })]
  const attempts = await Promise.all(
    worlds.map(async (world, place) => {
      const { text: token } = await makeLink(linkParts(world), { kind: 'setup' })
      return { world, place, token }
    }),
  )
  const answers = await Promise.all(
    // Each link is sent to the process that did not make it.
    attempts.map(({ token, place }) => {
      const world = worlds[1 - place]
      if (world === undefined) throw new Error('there are two')
      const email = `person${place}@example.org`
      return new Browser(world).post('setup', { token, ...PERSON, email })
    }),
  )
  expect(answers.map(({ httpStatus }) => httpStatus).sort()).toEqual([201, 404])
  const users = await worlds[0]?.gateway.store.db.selectFrom('users').selectAll().execute()
  expect(users).toHaveLength(1)
})

describe('an invitation', () => {
  test('makes a member of one account, who is no operator', async () => {
    const world = await open()
    const { id: accountId } = await world.account()
    await setUpOperator(world)
    const guest = await inviteGuest(world, { email: 'Eve@Example.org', accountId, role: 'member' })
    expect((await guest.get('me')).json).toMatchObject({
      user: { email: 'eve@example.org', is_operator: false },
      accounts: [{ id: accountId, name: 'test', role: 'member', disabled: false }],
    })
  })

  test("of a user asks for that user's password, and still works after a wrong one", async () => {
    const world = await open()
    const { id: accountId } = await world.account()
    await setUpOperator(world)
    const { text: token } = await makeLink(linkParts(world), {
      kind: 'invitation',
      email: ADA.email,
      isOperator: false,
      membership: { accountId, role: 'owner' },
    })
    const browser = new Browser(world)
    const wrong = { token, name: 'Ada', password: 'wrong horse battery' }
    const refused = await browser.post('auth/invitation', wrong)
    expect(errorOf(refused)).toEqual({
      httpStatus: 401,
      code: 'invalid_sign_in',
      param: 'password',
    })
    const right = { ...wrong, password: ADA.password }
    const { httpStatus, json } = await browser.post('auth/invitation', right)
    expect([httpStatus, json['accounts']]).toEqual([
      201,
      [{ id: accountId, name: 'test', role: 'owner', disabled: false }],
    ])
    expect(errorOf(await browser.post('auth/invitation', right))).toEqual(INVALID)
  })
})

describe('a look at a link', () => {
  const look = (world: World, kind: string, token: string) =>
    new Browser(world).post(`auth/${kind}/look`, { token })

  test('names the address, the account, the role, the inviter and the expiry, and does not use the link', async () => {
    const world = await open()
    const { id: accountId } = await world.account()
    const operator = await setUpOperator(world)
    const made = await operator.post(`accounts/${accountId}/invitations`, {
      email: 'eve@example.org',
      role: 'member',
    })
    const token = String(made.json['url']).split('#')[1] ?? ''
    const seen = {
      object: 'link_look',
      usable: true,
      email: 'eve@example.org',
      account_name: 'test',
      role: 'member',
      operator: false,
      inviter: `Ada (${ADA.email})`,
      expires_at: made.json['expires_at'],
    }
    expect((await look(world, 'invitation', token)).json).toEqual(seen)
    const guest = new Browser(world)
    const person = { token, name: 'Eve', password: ADA.password }
    expect((await guest.post('auth/invitation', person)).httpStatus).toBe(201)
    const after = await look(world, 'invitation', token)
    expect([after.httpStatus, after.json]).toEqual([200, { ...seen, usable: false, email: null }])
  })

  test('names the inviter for a month after the expiry, even if the account has two owners', async () => {
    const world = await open()
    const { db } = world.gateway.store
    const { id: accountId } = await world.account()
    await setUpOperator(world)
    const invited = (email: string) => inviteGuest(world, { email, accountId, role: 'owner' })
    const owner = await invited('eve@example.org')
    await invited('mallory@example.org')
    const body = { email: 'bob@example.org', role: 'member' }
    const { json } = await owner.post(`accounts/${accountId}/invitations`, body)
    const text = String(json['url']).split('#')[1] ?? ''
    const lookedAt = async (daysLater: number) => {
      const nowMs = Date.parse(String(json['expires_at'])) + daysLater * 86_400_000
      await removeExpiredLinks(db, nowMs)
      return lookAtLink(db, { kind: 'invitation', text, nowMs })
    }
    expect(await lookedAt(29)).toMatchObject({
      isUsable: false,
      accountName: 'test',
      inviter: { name: 'eve@example.org', email: 'eve@example.org' },
    })
    expect(await lookedAt(31)).toBeNull()
  })

  test('names the owner who created it, and no person for the command line', async () => {
    const world = await open()
    const { id: accountId } = await world.account()
    await setUpOperator(world)
    const owner = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'owner' })
    const body = { email: 'bob@example.org', role: 'owner' }
    const made = await owner.post(`accounts/${accountId}/invitations`, body)
    const token = String(made.json['url']).split('#')[1] ?? ''
    expect((await look(world, 'invitation', token)).json).toMatchObject({
      inviter: 'eve@example.org',
    })
    const { text } = await makeLink(linkParts(world), {
      kind: 'invitation',
      email: 'new@example.org',
      isOperator: true,
      membership: null,
    })
    expect((await look(world, 'invitation', text)).json).toMatchObject({
      usable: true,
      account_name: null,
      operator: true,
      inviter: null,
    })
  })

  test('gives the same refusal for a link of another kind and an unknown link', async () => {
    const world = await open()
    await setUpOperator(world)
    const [user] = await world.gateway.store.db.selectFrom('users').select('id').execute()
    const reset = { kind: 'reset', userId: user?.id ?? '' } as const
    const { text: token } = await makeLink(linkParts(world), reset)
    expect((await look(world, 'reset', token)).json).toMatchObject({ usable: true, inviter: null })
    const unknown = await look(world, 'invitation', 'no-link')
    expect((await look(world, 'invitation', token)).json).toEqual(unknown.json)
    expect([unknown.httpStatus, unknown.json]).toMatchObject([
      200,
      { usable: false, account_name: null, expires_at: null },
    ])
  })

  test('counts a wrong link as a guess', async () => {
    const world = await open({ settings: { TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: '1' } })
    await setUpOperator(world)
    await look(world, 'invitation', 'no-link')
    expect((await look(world, 'invitation', 'no-link')).httpStatus).toBe(429)
  })
})

test('a reset link sets a new password once, and ends earlier sessions', async () => {
  const world = await open()
  const before = await setUpOperator(world)
  const [user] = await world.gateway.store.db.selectFrom('users').select('id').execute()
  const { text: token } = await makeLink(linkParts(world), {
    kind: 'reset',
    userId: user?.id ?? '',
  })
  const password = 'another horse battery'
  const browser = new Browser(world)
  expect((await browser.post('auth/reset', { token, password })).httpStatus).toBe(200)
  expect((await browser.get('me')).httpStatus).toBe(200)
  expect(errorOf(await before.get('me'))).toMatchObject({ code: 'not_signed_in' })
  expect(errorOf(await browser.post('auth/reset', { token, password }))).toEqual(INVALID)
  const visitor = new Browser(world)
  expect(errorOf(await visitor.post('auth/sign-in', ADA))).toMatchObject({ httpStatus: 401 })
  expect((await visitor.post('auth/sign-in', { ...ADA, password })).httpStatus).toBe(200)
})
