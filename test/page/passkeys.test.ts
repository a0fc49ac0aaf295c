import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeLink } from '../../src/people/links.ts'
import { type AskedOptions, PasskeyDevice } from '../../src/people/testing/passkey-device.ts'
import { startWorld, type World } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

const ORIGIN = 'https://tollgate.test'
const WRONG_PASSKEY = { httpStatus: 401, code: 'invalid_second_factor', param: 'passkey' }

let world: World
let passedMs = 0
const startedMs = Date.now()
const nowMs = () => startedMs + passedMs

beforeEach(async () => {
  passedMs = 0
  world = await startWorld({ clock: { nowMs }, settings: { TOLLGATE_PUBLIC_URL: ORIGIN } })
})
afterEach(() => world.close())

const deviceOf = (input = {}) => new PasskeyDevice({ origin: ORIGIN, ...input })

async function ask(browser: Browser, path: string): Promise<AskedOptions> {
  const { httpStatus, json, text } = await browser.post(path)
  if (httpStatus !== 200) throw new Error(`${path}: ${text}`)
  return Object(json['options'])
}

/** Gives the user of a browser a passkey, and returns the recovery codes that came with it. */
async function addPasskey(browser: Browser, device: PasskeyDevice, name = 'My phone') {
  const passkey = device.make(await ask(browser, 'auth/factors/passkey/begin'))
  const added = await browser.post('auth/factors/passkey', { name, passkey })
  expect([added.httpStatus, added.json]).toMatchObject([201, { object: 'factor_added' }])
  return Object(added.json)['recovery_codes'] as readonly string[] | null
}

const operator = () => setUpOperator(world, { origin: ORIGIN })

async function signIn(): Promise<Browser> {
  const browser = new Browser(world, { origin: ORIGIN })
  const answer = await browser.post('auth/sign-in', ADA)
  expect([answer.httpStatus, answer.json]).toEqual([200, { object: 'factor_needed' }])
  return browser
}

async function show(browser: Browser, device: PasskeyDevice) {
  const passkey = device.sign(await ask(browser, 'auth/factor/challenge'))
  return browser.post('auth/factor', { passkey })
}

test("with a passkey, a password alone opens nothing, and the passkey's signature opens the page", async () => {
  const owner = await operator()
  const device = deviceOf()
  const codes = await addPasskey(owner, device)
  expect(new Set(codes).size).toBe(10)
  expect((await owner.get('auth/factors')).json).toMatchObject({
    data: [{ kind: 'passkey', name: 'My phone', host: 'tollgate.test', last_used_at: null }],
    recovery_codes_left: 10,
    needs_proof: false,
    passkey_host: 'tollgate.test',
  })
  const browser = await signIn()
  expect((await browser.get('me')).httpStatus).toBe(401)
  expect((await browser.get('start')).json).toMatchObject({
    factor_needed: { email: ADA.email, kinds: ['passkey'] },
  })
  expect(await show(browser, device)).toMatchObject({ httpStatus: 200, json: { object: 'me' } })
  expect((await browser.get('me')).json).toMatchObject({
    user: { second_factor: 'on', second_factor_kinds: ['passkey'] },
  })
})

test('a signature of a passkey works once, and only in its own session', async () => {
  const device = deviceOf()
  await addPasskey(await operator(), device)
  const browser = await signIn()
  const other = await signIn()
  const passkey = device.sign(await ask(browser, 'auth/factor/challenge'))
  expect(errorOf(await other.post('auth/factor', { passkey }))).toEqual(WRONG_PASSKEY)
  await ask(other, 'auth/factor/challenge')
  expect(errorOf(await other.post('auth/factor', { passkey }))).toEqual(WRONG_PASSKEY)
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => browser.post('auth/factor', { passkey })),
  )
  expect(answers.filter(({ httpStatus }) => httpStatus === 200)).toHaveLength(1)
})

test('a signature is valid for five minutes', async () => {
  const device = deviceOf()
  await addPasskey(await operator(), device)
  const browser = await signIn()
  const passkey = device.sign(await ask(browser, 'auth/factor/challenge'))
  passedMs += 5 * 60_000
  expect(errorOf(await browser.post('auth/factor', { passkey }))).toEqual(WRONG_PASSKEY)
  expect((await show(browser, device)).httpStatus).toBe(200)
})

test('a signature for another origin, host or challenge is refused', async () => {
  const device = deviceOf()
  await addPasskey(await operator(), device)
  const asked = () =>
    signIn().then(
      async (browser) => [browser, await ask(browser, 'auth/factor/challenge')] as const,
    )
  const forged: ((options: AskedOptions) => AskedOptions)[] = [
    (options) => ({ ...options, rpId: 'evil.test' }),
    (options) => ({ ...options, challenge: Buffer.from('mine').toString('base64url') }),
  ]
  for (const forge of forged) {
    const [browser, options] = await asked()
    const passkey = device.sign(forge(options))
    expect(errorOf(await browser.post('auth/factor', { passkey }))).toEqual(WRONG_PASSKEY)
  }
  const elsewhere = deviceOf({ origin: 'https://tollgate.test.evil.example' })
  const owner = await signIn()
  expect((await show(owner, device)).httpStatus).toBe(200)
  const made = elsewhere.make(await ask(owner, 'auth/factors/passkey/begin'))
  const refused = await owner.post('auth/factors/passkey', { name: 'Elsewhere', passkey: made })
  expect(errorOf(refused)).toEqual(WRONG_PASSKEY)
})

test('a copied device that counts its signatures is detected', async () => {
  const device = deviceOf()
  await addPasskey(await operator(), device)
  expect((await show(await signIn(), device)).httpStatus).toBe(200)
  expect((await show(await signIn(), device)).httpStatus).toBe(200)
  device.signatures = 0
  expect(errorOf(await show(await signIn(), device))).toEqual(WRONG_PASSKEY)
})

test('a passkey that does not count signatures, like a synced one, signs in repeatedly', async () => {
  const device = deviceOf({ counts: false })
  await addPasskey(await operator(), device)
  for (let time = 0; time < 3; time++) {
    expect((await show(await signIn(), device)).httpStatus).toBe(200)
  }
})

test('a passkey belongs to one user, and is not added twice', async () => {
  const ada = deviceOf()
  const owner = await operator()
  await addPasskey(owner, ada)
  const { id: accountId } = await world.account()
  const guest = await inviteGuest(world, {
    email: 'eve@example.org',
    accountId,
    role: 'member',
    origin: ORIGIN,
  })
  const own = deviceOf()
  await addPasskey(guest, own)
  const browser = await signIn()
  const options = await ask(browser, 'auth/factor/challenge')
  const { data } = Object((await guest.get('auth/factors')).json)
  expect(options.allowCredentials).toHaveLength(1)
  expect(() => own.sign(options)).toThrow('no passkey of this device is allowed')
  expect((await owner.call('DELETE', `auth/factors/${data[0].id}`)).httpStatus).toBe(404)

  // A second ceremony registers this credential again.
  const begun = await ask(guest, 'auth/factors/passkey/begin')
  expect(begun.excludeCredentials).toHaveLength(1)
  const made = own.make(begun)
  expect(
    (await guest.post('auth/factors/passkey', { name: 'Two', passkey: made })).httpStatus,
  ).toBe(201)
  await ask(guest, 'auth/factors/passkey/begin')
  const again = await guest.post('auth/factors/passkey', { name: 'Three', passkey: made })
  expect(errorOf(again)).toEqual(WRONG_PASSKEY)
})

test('the fifth passkey that is refused in ten minutes is 429, and codes with it', async () => {
  const device = deviceOf()
  const codes = await addPasskey(await operator(), device)
  const browser = await signIn()
  const statuses: number[] = []
  for (let wrong = 0; wrong < 5; wrong++) {
    const options = await ask(browser, 'auth/factor/challenge')
    const passkey = device.sign({ ...options, rpId: 'evil.test' })
    statuses.push((await browser.post('auth/factor', { passkey })).httpStatus)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 429])
  expect((await browser.post('auth/factor', { code: codes?.[0] })).httpStatus).toBe(429)
})

test("a certificate of the device's maker is refused without being read", async () => {
  const owner = await operator()
  const certificate = new Uint8Array(40)
  for (const fmt of ['packed', 'android-key', 'apple', 'tpm', 'fido-u2f', 'made-up']) {
    const attStmt = new Map<string, unknown>([
      ['alg', -7],
      ['sig', certificate],
      ['x5c', [certificate]],
    ])
    const device = deviceOf({ attestation: { fmt, attStmt } })
    const passkey = device.make(await ask(owner, 'auth/factors/passkey/begin'))
    const refused = await owner.post('auth/factors/passkey', { name: fmt, passkey })
    expect(errorOf(refused)).toEqual(WRONG_PASSKEY)
  }
})

test('invalid input in place of a passkey is 400 or refused', async () => {
  const owner = await operator()
  const device = deviceOf()
  const good = device.make(await ask(owner, 'auth/factors/passkey/begin'))
  const { response } = good
  const bad: unknown[] = [
    null,
    'passkey',
    {},
    { ...good, id: '' },
    { ...good, id: 'a'.repeat(2_000) },
    { ...good, type: 'password' },
    { ...good, response: { ...response, attestationObject: '\u0000' } },
    { ...good, response: { ...response, clientDataJSON: 'A'.repeat(9_000) } },
    { ...good, response: { ...response, attestationObject: 'AAAA' } },
    { ...good, response: { ...response, clientDataJSON: 'bnVsbA' } },
    {
      ...good,
      response: { ...response, attestationObject: Buffer.alloc(5_000, 0x81).toString('base64url') },
    },
  ]
  for (const passkey of bad) {
    await ask(owner, 'auth/factors/passkey/begin')
    const { httpStatus } = await owner.post('auth/factors/passkey', { name: 'Bad', passkey })
    expect([400, 401], JSON.stringify(passkey)).toContain(httpStatus)
  }
  for (const name of ['', 'a'.repeat(201), 7]) {
    const passkey = device.make(await ask(owner, 'auth/factors/passkey/begin'))
    expect((await owner.post('auth/factors/passkey', { name, passkey })).httpStatus).toBe(400)
  }
  expect((await owner.get('auth/factors')).json).toMatchObject({ data: [] })
})

test('a user has at most ten passkeys', async () => {
  const owner = await operator()
  for (let made = 1; made <= 10; made++) await addPasskey(owner, deviceOf(), `Key ${made}`)
  const passkey = deviceOf().make(await ask(owner, 'auth/factors/passkey/begin'))
  const refused = await owner.post('auth/factors/passkey', { name: 'Key 11', passkey })
  expect(errorOf(refused)).toMatchObject({ httpStatus: 400, code: 'invalid_parameter' })
})

test('a passkey can be changed within ten minutes of the password, and after that only with a signature too', async () => {
  const device = deviceOf()
  const owner = await operator()
  await addPasskey(owner, device)
  passedMs += 10 * 60_000
  expect((await owner.post('auth/factors/passkey/begin')).httpStatus).toBe(403)
  const { password } = ADA
  expect((await owner.post('auth/confirm', { password })).httpStatus).toBe(401)
  const passkey = device.sign(await ask(owner, 'auth/factor/challenge'))
  expect((await owner.post('auth/confirm', { password, passkey })).httpStatus).toBe(200)
  expect((await owner.post('auth/factors/passkey/begin')).httpStatus).toBe(200)
})

test('an app and a passkey can be set up together, and recovery codes are deleted with the last of them', async () => {
  const owner = await operator()
  const device = deviceOf()
  await addPasskey(owner, device)
  expect(await addPasskey(owner, deviceOf(), 'Second')).toBeNull()
  const { data } = Object((await owner.get('auth/factors')).json)
  const waiting = await signIn()
  expect((await owner.call('DELETE', `auth/factors/${data[1].id}`)).httpStatus).toBe(200)
  expect((await owner.get('auth/factors')).json).toMatchObject({ recovery_codes_left: 10 })
  expect((await waiting.post('auth/factor/challenge')).httpStatus).toBe(401)
  expect((await owner.call('DELETE', `auth/factors/${data[0].id}`)).httpStatus).toBe(200)
  expect((await owner.get('auth/factors')).json).toMatchObject({ data: [], recovery_codes_left: 0 })
  const plain = await new Browser(world, { origin: ORIGIN }).post('auth/sign-in', ADA)
  expect(plain.json).toMatchObject({ object: 'me', user: { second_factor: 'off' } })
})

test('a link of `tollgate user reset` removes lost passkeys', async () => {
  await addPasskey(await operator(), deviceOf())
  const { db } = world.gateway.store
  const { id } = await db.selectFrom('users').select('id').executeTakeFirstOrThrow()
  const { text: token } = await makeLink(linkParts(world), { kind: 'reset', userId: id })
  const browser = new Browser(world, { origin: ORIGIN })
  const reset = await browser.post('auth/reset', { token, password: 'another horse battery' })
  expect(reset.json).toMatchObject({ object: 'me', user: { second_factor: 'off' } })
  expect(await db.selectFrom('passkeys').select('id').execute()).toEqual([])
})

test('a passkey of an earlier host name is still required, and a recovery code can replace it', async () => {
  const owner = await operator()
  const codes = await addPasskey(owner, deviceOf())
  await world.gateway.store.db.updateTable('passkeys').set({ host: 'old.test' }).execute()
  const browser = await signIn()
  expect((await browser.get('start')).json).toMatchObject({ factor_needed: { kinds: [] } })
  expect((await browser.post('auth/factor/challenge')).httpStatus).toBe(404)
  expect((await browser.post('auth/factor', { code: codes?.[0] })).httpStatus).toBe(200)
})

test('a page at an IP address has no passkeys, and names the address to open', async () => {
  await world.close()
  world = await startWorld({ clock: { nowMs } })
  const owner = await setUpOperator(world)
  expect((await owner.get('auth/factors')).json).toMatchObject({ passkey_host: null })
  const refused = await owner.post('auth/factors/passkey/begin')
  expect(errorOf(refused)).toMatchObject({ httpStatus: 400, code: 'invalid_parameter' })
  expect(refused.text).toContain('http://localhost')
})

test('a challenge needs a session, signed in or waiting, and a passkey', async () => {
  const nobody = new Browser(world, { origin: ORIGIN })
  expect((await nobody.post('auth/factor/challenge')).httpStatus).toBe(401)
  const owner = await operator()
  expect((await owner.post('auth/factor/challenge')).httpStatus).toBe(404)
  await addPasskey(owner, deviceOf())
  const foreign = new Browser(world, { origin: 'https://evil.test' })
  for (const [name, value] of owner.cookies) foreign.cookies.set(name, value)
  for (const path of [
    'auth/factor/challenge',
    'auth/factors/passkey/begin',
    'auth/factors/passkey',
  ]) {
    expect(errorOf(await foreign.post(path))).toMatchObject({ httpStatus: 403 })
  }
})

test('a password without the passkey does not use the calls of its user', async () => {
  const owner = await operator()
  await addPasskey(owner, deviceOf())
  const stranger = await signIn()
  const statuses = new Set<number>()
  while (!statuses.has(429)) {
    statuses.add((await stranger.post('auth/factor/challenge')).httpStatus)
  }
  expect([...statuses]).toEqual([200, 429])
  expect((await owner.get('me')).httpStatus).toBe(200)
})
