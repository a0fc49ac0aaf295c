import { TOTP } from 'otpauth'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeLink } from '../../src/people/links.ts'
import { startWorld, type World } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

const PERIOD_MS = 30_000
const WRONG_CODE = { httpStatus: 401, code: 'invalid_second_factor', param: 'code' }
const SIGNED_OUT = { httpStatus: 401, code: 'not_signed_in', param: null }

let world: World
let passedMs = 0
const nowMs = () => startedMs + passedMs
const startedMs = Date.now()

beforeEach(async () => {
  passedMs = 0
  world = await startWorld({ clock: { nowMs } })
})
afterEach(() => world.close())

/** A phone with an authenticator app: its code of now, or some periods away. */
class Phone {
  readonly #totp: TOTP

  constructor(secret: string) {
    this.#totp = new TOTP({ secret })
  }

  code(periods = 0): string {
    return this.#totp.generate({ timestamp: nowMs() + periods * PERIOD_MS })
  }
}

interface Enrolled {
  readonly phone: Phone
  readonly recoveryCodes: readonly string[]
}

/** Gives the user of a browser an app. Time passes, so that its next code is a new one. */
async function enrol(browser: Browser): Promise<Enrolled> {
  const { json } = await browser.post('auth/factors/app/begin')
  const secret = String(json['secret'])
  const phone = new Phone(secret)
  const added = await browser.post('auth/factors/app', { secret, code: phone.code() })
  expect(added.httpStatus).toBe(201)
  passedMs += PERIOD_MS
  return { phone, recoveryCodes: Object(added.json)['recovery_codes'] }
}

async function signIn(input = {}): Promise<Browser> {
  const browser = new Browser(world, input)
  const answer = await browser.post('auth/sign-in', ADA)
  expect([answer.httpStatus, answer.json]).toEqual([200, { object: 'factor_needed' }])
  return browser
}

test("with an app, a password alone opens nothing, and the app's code opens the page", async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const browser = await signIn()
  const { id: accountId } = await world.account()
  for (const path of [
    'me',
    'auth/sessions',
    `accounts/${accountId}/overview`,
    'operator/accounts',
  ]) {
    expect(errorOf(await browser.get(path))).toEqual(SIGNED_OUT)
  }
  expect((await browser.get('start')).json).toMatchObject({
    signed_in: false,
    factor_needed: { email: ADA.email },
  })
  const shown = await browser.post('auth/factor', { code: phone.code() })
  expect([shown.httpStatus, shown.json]).toMatchObject([200, { object: 'me' }])
  expect((await browser.get('me')).json).toMatchObject({ user: { second_factor: 'on' } })
  expect((await browser.get('start')).json).toMatchObject({ signed_in: true, factor_needed: null })
})

test('a code of the app signs in once', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const code = phone.code()
  const browsers = await Promise.all(Array.from({ length: 4 }, () => signIn()))
  const answers = await Promise.all(browsers.map((each) => each.post('auth/factor', { code })))
  expect(answers.map(({ httpStatus }) => httpStatus).toSorted()).toEqual([200, 401, 401, 401])
  const [late = new Browser(world)] = browsers.filter(
    (_, place) => answers[place]?.httpStatus === 401,
  )
  expect(errorOf(await late.post('auth/factor', { code }))).toEqual(WRONG_CODE)
})

test('neither the code that confirmed the app nor an older code signs in', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const browser = await signIn()
  expect(errorOf(await browser.post('auth/factor', { code: phone.code(-1) }))).toEqual(WRONG_CODE)
  expect((await browser.post('auth/factor', { code: phone.code() })).httpStatus).toBe(200)
  const other = await signIn()
  expect(errorOf(await other.post('auth/factor', { code: phone.code() }))).toEqual(WRONG_CODE)
  expect((await other.post('auth/factor', { code: phone.code(1) })).httpStatus).toBe(200)
})

test('after the fifth wrong code in ten minutes even the right code is 429, from any address', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const statuses: number[] = []
  for (const address of [
    '203.0.113.1',
    '203.0.113.2',
    '203.0.113.3',
    '203.0.113.4',
    '203.0.113.5',
  ]) {
    const browser = await signIn({ address })
    statuses.push((await browser.post('auth/factor', { code: '000000' })).httpStatus)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 429])
  const browser = await signIn()
  const refused = await browser.post('auth/factor', { code: phone.code() })
  expect(errorOf(refused)).toMatchObject({ httpStatus: 429, code: 'rate_limited' })
  passedMs += 10 * 60_000
  const later = await signIn()
  expect((await later.post('auth/factor', { code: phone.code() })).httpStatus).toBe(200)
})

test('thirty simultaneous wrong codes are five guesses', async () => {
  await enrol(await setUpOperator(world))
  const browser = await signIn()
  const codes = Array.from({ length: 30 }, (_, place) => `${100_000 + place}`)
  const answers = await Promise.all(codes.map((code) => browser.post('auth/factor', { code })))
  expect(answers.filter(({ httpStatus }) => httpStatus === 401).length).toBeLessThanOrEqual(4)
  expect(answers.filter(({ httpStatus }) => httpStatus === 429).length).toBeGreaterThanOrEqual(26)
})

test('a session waits ten minutes for the code', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const browser = await signIn()
  passedMs += 10 * 60_000
  expect(errorOf(await browser.post('auth/factor', { code: phone.code() }))).toEqual(SIGNED_OUT)
  expect((await browser.get('start')).json).toMatchObject({ factor_needed: null })
})

test('a waiting session can be signed out, and is not listed', async () => {
  const owner = await setUpOperator(world)
  const { phone } = await enrol(owner)
  const browser = await signIn()
  const stolen = new Map(browser.cookies)
  expect((await owner.get('auth/sessions')).json['data']).toHaveLength(1)
  expect((await browser.post('auth/sign-out')).httpStatus).toBe(200)
  const thief = new Browser(world)
  for (const [name, value] of stolen) thief.cookies.set(name, value)
  expect(errorOf(await thief.post('auth/factor', { code: phone.code() }))).toEqual(SIGNED_OUT)
})

test('ten recovery codes sign in once each, however they are typed', async () => {
  const { recoveryCodes } = await enrol(await setUpOperator(world))
  expect(new Set(recoveryCodes).size).toBe(10)
  const [first = '', second = ''] = recoveryCodes
  const browser = await signIn()
  const typed = ` ${first.toLowerCase().replaceAll('-', ' ')} `
  expect((await browser.post('auth/factor', { code: typed })).httpStatus).toBe(200)
  expect((await browser.get('auth/factors')).json).toMatchObject({ recovery_codes_left: 9 })
  const other = await signIn()
  expect(errorOf(await other.post('auth/factor', { code: first }))).toEqual(WRONG_CODE)
  expect((await other.post('auth/factor', { code: second })).httpStatus).toBe(200)
})

test('new recovery codes end the earlier ones', async () => {
  const owner = await setUpOperator(world)
  const { recoveryCodes } = await enrol(owner)
  const renewed = await owner.post('auth/factors/recovery-codes')
  const [fresh = ''] = Object(renewed.json)['recovery_codes']
  const browser = await signIn()
  const refused = await browser.post('auth/factor', { code: recoveryCodes[0] })
  expect(errorOf(refused)).toEqual(WRONG_CODE)
  expect((await browser.post('auth/factor', { code: fresh })).httpStatus).toBe(200)
})

test('no code of one user works for another', async () => {
  const ada = await enrol(await setUpOperator(world))
  const { id: accountId } = await world.account()
  const eve = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'member' })
  const own = await enrol(eve)
  const browser = await signIn()
  for (const code of [own.phone.code(), own.recoveryCodes[0]]) {
    expect(errorOf(await browser.post('auth/factor', { code }))).toEqual(WRONG_CODE)
  }
  const { data } = Object((await eve.get('auth/factors')).json)
  expect(data).toHaveLength(1)
  const owner = await signIn()
  await owner.post('auth/factor', { code: ada.phone.code() })
  expect((await owner.call('DELETE', `auth/factors/${data[0].id}`)).httpStatus).toBe(404)
})

test('setting up an app, another one, and its removal end all other sessions', async () => {
  const owner = await setUpOperator(world)
  const other = new Browser(world)
  await other.post('auth/sign-in', ADA)
  const { phone } = await enrol(owner)
  expect((await other.get('me')).httpStatus).toBe(401)
  expect((await owner.get('me')).httpStatus).toBe(200)

  const passed = await signIn()
  await passed.post('auth/factor', { code: phone.code() })
  const second = await enrol(owner)
  expect(second.recoveryCodes).toBeNull()
  expect((await passed.get('me')).httpStatus).toBe(401)

  const waiting = await signIn()
  expect(errorOf(await waiting.post('auth/factor', { code: phone.code() }))).toEqual(WRONG_CODE)
  const { data } = Object((await owner.get('auth/factors')).json)
  expect((await owner.call('DELETE', `auth/factors/${data[0].id}`)).httpStatus).toBe(200)
  expect((await waiting.get('me')).httpStatus).toBe(401)
  expect((await owner.get('auth/factors')).json).toMatchObject({ data: [], recovery_codes_left: 0 })
  const plain = await new Browser(world).post('auth/sign-in', ADA)
  expect(plain.json).toMatchObject({ object: 'me', user: { second_factor: 'off' } })
})

test('second factors can be changed within ten minutes of the password, and after that only with a code too', async () => {
  const owner = await setUpOperator(world)
  const { phone, recoveryCodes } = await enrol(owner)
  passedMs += 10 * 60_000
  const { data } = Object((await owner.get('auth/factors')).json)
  const changes: (() => ReturnType<Browser['post']>)[] = [
    () => owner.post('auth/factors/app/begin'),
    () => owner.post('auth/factors/app', { secret: 'A'.repeat(32), code: '000000' }),
    () => owner.post('auth/factors/recovery-codes'),
    () => owner.call('DELETE', `auth/factors/${data[0].id}`),
  ]
  for (const change of changes) {
    expect(errorOf(await change())).toMatchObject({ httpStatus: 403, code: 'sign_in_again' })
  }
  const { password } = ADA
  expect(errorOf(await owner.post('auth/confirm', { password }))).toEqual(WRONG_CODE)
  expect(errorOf(await owner.post('auth/confirm', { password, code: '000000' }))).toEqual(
    WRONG_CODE,
  )
  expect((await changes[2]?.())?.httpStatus).toBe(403)
  const wrong = { password: 'wrong horse battery', code: recoveryCodes[0] }
  expect(errorOf(await owner.post('auth/confirm', wrong))).toMatchObject({ param: 'password' })
  const right = { password, code: phone.code() }
  expect((await owner.post('auth/confirm', right)).httpStatus).toBe(200)
  expect((await changes[2]?.())?.httpStatus).toBe(201)
})

test('a link of `tollgate user reset` removes a lost second factor', async () => {
  await enrol(await setUpOperator(world))
  const { id } = await world.gateway.store.db
    .selectFrom('users')
    .select('id')
    .executeTakeFirstOrThrow()
  const { text: token } = await makeLink(linkParts(world), { kind: 'reset', userId: id })
  const browser = new Browser(world)
  const password = 'another horse battery'
  const reset = await browser.post('auth/reset', { token, password })
  expect(reset.json).toMatchObject({ object: 'me', user: { second_factor: 'off' } })
})

test('a link by email removes no second factor, even with the first proof of the address', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const { db } = world.gateway.store
  const { id } = await db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  for (const isProved of [false, true]) {
    const { text: token } = await makeLink(linkParts(world), { kind: 'reset', userId: id })
    await db.updateTable('links').set({ mailed: 1 }).where('used_at_ms', 'is', null).execute()
    const user = await db.selectFrom('users').select('email_verified').executeTakeFirstOrThrow()
    expect(user.email_verified).toBe(isProved ? 1 : 0)
    const browser = new Browser(world)
    const reset = await browser.post('auth/reset', { token, password: 'another horse battery' })
    expect(reset.json).toEqual({ object: 'factor_needed' })
    expect((await browser.get('me')).httpStatus).toBe(401)
    expect((await browser.post('auth/factor', { code: phone.code() })).httpStatus).toBe(200)
    passedMs += PERIOD_MS
  }
})

test('a link to a user with an app also requires the code', async () => {
  const { phone } = await enrol(await setUpOperator(world))
  const { id: accountId } = await world.account()
  const membership = { accountId, role: 'owner' } as const
  const invited = { kind: 'invitation', email: ADA.email, isOperator: false, membership } as const
  const { text: token } = await makeLink(linkParts(world), invited)
  const browser = new Browser(world)
  const joined = await browser.post('auth/invitation', {
    token,
    name: 'Ada',
    ...ADA,
    email: undefined,
  })
  expect(joined.json).toEqual({ object: 'factor_needed' })
  expect((await browser.get('me')).httpStatus).toBe(401)
  expect((await browser.post('auth/factor', { code: phone.code() })).httpStatus).toBe(200)
})

test('no later answer, log or store has a recovery code, and no later answer has the secret of an app', async () => {
  const owner = await setUpOperator(world)
  const { recoveryCodes } = await enrol(owner)
  const { db } = world.gateway.store
  const [app] = await db.selectFrom('authenticator_apps').selectAll().execute()
  const rows = JSON.stringify(await db.selectFrom('recovery_codes').selectAll().execute())
  const later = [
    (await owner.get('auth/factors')).text,
    (await owner.get('me')).text,
    (await owner.get('auth/sessions')).text,
  ].join('\n')
  const log = world.log.join('\n')
  expect(app?.secret).toMatch(/^[A-Z2-7]{32}$/)
  for (const text of [String(app?.secret), ...recoveryCodes]) {
    expect(later).not.toContain(text)
    expect(log).not.toContain(text)
  }
  for (const code of recoveryCodes) expect(rows).not.toContain(code)
})

test('a setup must be complete and current', async () => {
  const owner = await setUpOperator(world)
  const { json } = await owner.post('auth/factors/app/begin')
  const secret = String(json['secret'])
  const phone = new Phone(secret)
  const stale = { secret, code: phone.code(-2) }
  expect(errorOf(await owner.post('auth/factors/app', stale))).toEqual(WRONG_CODE)
  for (const body of [{ secret: 'short', code: phone.code() }, { secret, code: '' }, { secret }]) {
    expect((await owner.post('auth/factors/app', body)).httpStatus).toBe(400)
  }
  expect((await owner.get('auth/factors')).json).toMatchObject({ data: [] })
  expect((await owner.post('auth/factors/recovery-codes')).httpStatus).toBe(404)
})

test('an operator who must have a second factor and has none can only set one up', async () => {
  await world.close()
  world = await startWorld({
    clock: { nowMs },
    settings: { TOLLGATE_OPERATOR_SECOND_FACTOR: 'required' },
  })
  const owner = await setUpOperator(world)
  const { id: accountId } = await world.account()
  const eve = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'member' })
  expect((await eve.get(`accounts/${accountId}/keys`)).httpStatus).toBe(200)
  expect((await owner.get('me')).json).toMatchObject({ user: { second_factor: 'required' } })
  const required = { httpStatus: 403, code: 'second_factor_required', param: null }
  for (const path of [`accounts/${accountId}/keys`, 'operator/accounts', 'operator/tokens']) {
    expect(errorOf(await owner.get(path))).toEqual(required)
  }
  const chat = { model: 'test/text', messages: [{ role: 'user', content: 'Hello' }] }
  const played = await owner.post(`accounts/${accountId}/playground/chat`, chat)
  expect(errorOf(played)).toEqual(required)
  await enrol(owner)
  expect((await owner.get(`accounts/${accountId}/keys`)).httpStatus).toBe(200)
  expect((await owner.get('operator/accounts')).httpStatus).toBe(200)
})
