import { expect, test } from 'vitest'
import { startWorld, worldOfEach } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

const world = worldOfEach({ settings: { TOLLGATE_TRUSTED_PROXIES: '127.0.0.1' } })

const WRONG = { ...ADA, password: 'wrong horse battery' }

test('a wrong password and an unknown address get the same refusal', async () => {
  await setUpOperator(world)
  const browser = new Browser(world)
  const wrong = await browser.post('auth/sign-in', WRONG)
  const unknown = await browser.post('auth/sign-in', { ...WRONG, email: 'unknown@example.org' })
  expect(wrong.httpStatus).toBe(401)
  expect([unknown.httpStatus, unknown.json]).toEqual([wrong.httpStatus, wrong.json])
  expect(wrong.headers.getSetCookie()).toEqual([])
})

test('the fifth wrong password is 429 only for that network address together with that email address', async () => {
  await setUpOperator(world, { address: '192.0.2.1' })
  const stranger = new Browser(world, { address: '203.0.113.7' })
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    statuses.push((await stranger.post('auth/sign-in', WRONG)).httpStatus)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 429, 429])
  const refused = await stranger.post('auth/sign-in', { ...ADA, email: 'ADA@example.org' })
  expect(errorOf(refused)).toEqual({ httpStatus: 429, code: 'rate_limited', param: null })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(600)

  const other = { ...WRONG, email: 'eve@example.org' }
  expect((await stranger.post('auth/sign-in', other)).httpStatus).toBe(401)
  const elsewhere = new Browser(world, { address: '203.0.113.8' })
  expect((await elsewhere.post('auth/sign-in', ADA)).httpStatus).toBe(200)
})

test('a hundred simultaneous wrong passwords are five guesses', async () => {
  await setUpOperator(world, { address: '192.0.2.1' })
  const stranger = new Browser(world, { address: '203.0.113.7' })
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => stranger.post('auth/sign-in', WRONG)),
  )
  const wrong = answers.filter(({ httpStatus }) => httpStatus === 401)
  expect(wrong).toHaveLength(4)
  expect(answers.filter(({ httpStatus }) => httpStatus === 429)).toHaveLength(26)
})

test('an address that tries many email addresses is refused for a minute, and others are not', async () => {
  const startedMs = Date.now()
  let passedMs = 0
  const guessed = await startWorld({
    settings: { TOLLGATE_TRUSTED_PROXIES: '127.0.0.1', TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: '20' },
    clock: { nowMs: () => startedMs + passedMs },
  })
  await setUpOperator(guessed, { address: '192.0.2.1' })
  const stranger = new Browser(guessed, { address: '203.0.113.7' })
  const statuses: number[] = []
  for (let place = 0; place < 21; place++) {
    const email = `user${place}@example.org`
    statuses.push((await stranger.post('auth/sign-in', { ...WRONG, email })).httpStatus)
  }
  expect(statuses).toEqual([...new Array(20).fill(401), 429])
  expect((await stranger.post('auth/sign-in', ADA)).httpStatus).toBe(429)
  const elsewhere = new Browser(guessed, { address: '203.0.113.8' })
  expect((await elsewhere.post('auth/sign-in', ADA)).httpStatus).toBe(200)
  passedMs = 60_000
  expect((await stranger.post('auth/sign-in', ADA)).httpStatus).toBe(200)
  await guessed.close()
})

test('addresses of one IPv6 network are one address', async () => {
  await setUpOperator(world)
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) {
    const browser = new Browser(world, { address: `2001:db8::${i}` })
    statuses.push((await browser.post('auth/sign-in', WRONG)).httpStatus)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 429])
})

test('a sign-in resets the count of wrong passwords', async () => {
  await setUpOperator(world)
  const browser = new Browser(world)
  for (const credentials of [WRONG, WRONG, WRONG, WRONG, ADA, WRONG]) {
    const { httpStatus } = await browser.post('auth/sign-in', credentials)
    expect(httpStatus).toBe(credentials === ADA ? 200 : 401)
  }
})

test('sessions are listed, and one that is ended is refused from then on', async () => {
  const desk = await setUpOperator(world, { address: '192.0.2.1' })
  const phone = new Browser(world, { address: '203.0.113.7' })
  await phone.post('auth/sign-in', ADA)
  const { json } = await desk.get('auth/sessions')
  expect(json['data']).toEqual([
    expect.objectContaining({ current: false, address: '203.0.113.7', agent: 'Test browser' }),
    expect.objectContaining({ current: true, address: '192.0.2.1' }),
  ])
  const [{ id }] = json['data'] as [{ id: string }]
  const ended = await desk.call('DELETE', `auth/sessions/${id}`)
  expect([ended.httpStatus, ended.json]).toEqual([200, { id, object: 'session', deleted: true }])
  expect(errorOf(await phone.get('me'))).toMatchObject({ httpStatus: 401, code: 'not_signed_in' })
  expect((await desk.get('me')).httpStatus).toBe(200)
  expect((await desk.call('DELETE', `auth/sessions/${id}`)).httpStatus).toBe(404)
})

test('a user signs out everywhere else, and other users stay signed in', async () => {
  const desk = await setUpOperator(world)
  const { id: accountId } = await world.account()
  const eve = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'owner' })
  const others = [new Browser(world), new Browser(world)]
  for (const other of others) await other.post('auth/sign-in', ADA)
  const foreign = { headers: { origin: 'https://evil.example' } }
  const forged = await desk.call('DELETE', 'auth/sessions', foreign)
  expect(errorOf(forged)).toEqual({ httpStatus: 403, code: 'foreign_origin', param: null })
  expect((await new Browser(world).call('DELETE', 'auth/sessions')).httpStatus).toBe(401)
  const ended = await desk.call('DELETE', 'auth/sessions')
  expect([ended.httpStatus, ended.json]).toEqual([200, { object: 'sessions_ended', ended: 2 }])
  for (const other of others) expect((await other.get('me')).httpStatus).toBe(401)
  for (const kept of [desk, eve]) expect((await kept.get('me')).httpStatus).toBe(200)
  expect((await desk.get('auth/sessions')).json['data']).toHaveLength(1)
})

test('a session is listed with its last use, to five minutes', async () => {
  const startedMs = Date.now()
  let passedMs = 0
  const used = await startWorld({ clock: { nowMs: () => startedMs + passedMs } })
  const browser = await setUpOperator(used)
  const lastUse = async () => {
    const { json } = await browser.get('auth/sessions')
    const [session] = json['data'] as [{ last_used_at: string }]
    return Date.parse(session.last_used_at) - startedMs
  }
  const seen: number[] = []
  for (const minutes of [4, 6, 10, 60]) {
    passedMs = minutes * 60_000
    await browser.get('me')
    seen.push(Math.floor((await lastUse()) / 60_000))
  }
  expect(seen).toEqual([0, 6, 6, 60])
  await used.close()
})

test('a session ends 7 days after the sign-in, however much it is used', async () => {
  let passedMs = 0
  const lasting = await startWorld({ clock: { nowMs: () => Date.now() + passedMs } })
  const browser = await setUpOperator(lasting)
  for (let day = 1; day <= 6; day++) {
    passedMs = day * 24 * 60 * 60_000
    expect((await browser.get('me')).httpStatus).toBe(200)
  }
  passedMs = 7 * 24 * 60 * 60_000
  expect(errorOf(await browser.get('me'))).toMatchObject({ httpStatus: 401, code: 'not_signed_in' })
  await lasting.close()
})

test("no user ends another user's session", async () => {
  const ada = await setUpOperator(world)
  const [session] = await world.gateway.store.db.selectFrom('sessions').select('id').execute()
  const { id: accountId } = await world.account()
  const eve = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'owner' })
  const answer = await eve.call('DELETE', `auth/sessions/${session?.id}`)
  expect(errorOf(answer)).toMatchObject({ httpStatus: 404, code: 'not_found' })
  expect((await ada.get('me')).httpStatus).toBe(200)
})

test('sign-out ends the session and its cookie', async () => {
  const browser = await setUpOperator(world)
  const stolen = new Map(browser.cookies)
  const { httpStatus, json } = await browser.post('auth/sign-out')
  expect([httpStatus, json]).toEqual([200, { object: 'signed_out' }])
  // The browser stays known, which signs no one in.
  const { port } = new URL(world.gateway.address)
  expect([...browser.cookies.keys()]).toEqual([`tollgate_known_${port}`])
  const thief = new Browser(world)
  for (const [name, value] of stolen) thief.cookies.set(name, value)
  expect(errorOf(await thief.get('me'))).toMatchObject({ httpStatus: 401, code: 'not_signed_in' })
})

test('a new password ends all other sessions', async () => {
  const desk = await setUpOperator(world)
  const phone = new Browser(world)
  await phone.post('auth/sign-in', ADA)
  const body = { current_password: 'wrong horse battery', new_password: 'another horse battery' }
  expect((await desk.post('auth/password', body)).httpStatus).toBe(401)
  const right = { ...body, current_password: ADA.password }
  expect((await desk.post('auth/password', right)).httpStatus).toBe(200)
  expect((await desk.get('me')).httpStatus).toBe(200)
  expect((await phone.get('me')).httpStatus).toBe(401)
})

test('no store has a password, or the token of a session or a link', async () => {
  const browser = await setUpOperator(world)
  const [sessionToken = ''] = browser.cookies.values()
  expect(sessionToken).toMatch(/^\w{48}$/)
  const { db } = world.gateway.store
  const rows = JSON.stringify([
    await db.selectFrom('sessions').selectAll().execute(),
    await db.selectFrom('links').selectAll().execute(),
    await db.selectFrom('sign_ins').selectAll().execute(),
    await db.selectFrom('sign_in_rates').selectAll().execute(),
  ])
  for (const secretText of [sessionToken, ADA.password]) {
    expect(rows).not.toContain(secretText)
    expect(world.log.join('\n')).not.toContain(secretText)
  }
})

test('the cookie of a session is hidden from scripts and other sites, and on loopback allows plain HTTP', async () => {
  await setUpOperator(world)
  const { port } = new URL(world.gateway.address)
  const { headers } = await new Browser(world).post('auth/sign-in', ADA)
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(
      new RegExp(
        `^tollgate_session_${port}=\\w{48}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax$`,
      ),
    ),
    expect.stringMatching(
      new RegExp(
        `^tollgate_known_${port}=[\\w.]+; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax$`,
      ),
    ),
  ])
})

test('behind TLS the cookie is bound to its host and never sent without TLS', async () => {
  const settings = { TOLLGATE_PUBLIC_URL: 'https://gate.example.com' }
  const secure = await startWorld({ settings })
  const origin = 'https://gate.example.com'
  await setUpOperator(secure, { origin })
  const { headers } = await new Browser(secure, { origin }).post('auth/sign-in', ADA)
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^__Host-tollgate_session=\w{48}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure$/,
    ),
    expect.stringMatching(
      /^__Host-tollgate_known=[\w.]+; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax; Secure$/,
    ),
  ])
  const plain = await new Browser(secure).post('auth/sign-in', ADA)
  expect(errorOf(plain)).toMatchObject({ httpStatus: 403, code: 'foreign_origin' })
  await secure.close()
})
