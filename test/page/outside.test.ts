import { beforeEach, describe, expect, test } from 'vitest'
import { makeLink } from '../../src/people/links.ts'
import { remove } from '../../src/people/removal.ts'
import { databaseOfTest, MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { CLIENT, comeBack } from './oidc-provider.ts'
import {
  begin,
  finish,
  NOT_INVITED,
  ORIGIN,
  outsideWorld,
  REFUSED,
  VERIFIED_ADA,
} from './outside-browser.ts'
import { ADA, Browser, errorOf, linkParts, setUpOperator } from './page-client.ts'

const { world, newBrowser, outside } = outsideWorld()
async function signIn(browser: Browser, token = '') {
  return finish(browser, await begin(browser, { token }))
}

async function invite(email: string, accountId: string | null = null): Promise<string> {
  const membership = accountId === null ? null : { accountId, role: 'member' as const }
  const invitation = { kind: 'invitation', email, isOperator: accountId === null } as const
  return (await makeLink(linkParts(world), { ...invitation, membership })).text
}

const reasonsIn = (log: readonly string[]) =>
  log
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'a sign-in at a provider failed')
    .map(({ reason }) => reason)
const userIdOf = async (browser: Browser) => Object((await browser.get('me')).json['user']).id

describe('the user of an identity', () => {
  test('a person with an address that the provider calls verified becomes the user of that address', async () => {
    const desk = await setUpOperator(world, ORIGIN)
    outside.provider.person = VERIFIED_ADA
    const browser = newBrowser()
    const answer = await signIn(browser)
    expect([answer.httpStatus, answer.json]).toMatchObject([200, { user: { email: ADA.email } }])
    // The identity counts, not its address.
    outside.provider.person = { ...VERIFIED_ADA, email: 'eve@example.org' }
    const again = newBrowser()
    expect((await signIn(again)).httpStatus).toBe(200)
    expect(await userIdOf(again)).toBe(await userIdOf(browser))
    expect((await desk.get('me')).httpStatus).toBe(401)
  })

  test('the first proof of an address ends a password that was set before it, and a later proof ends nothing', async () => {
    await setUpOperator(world, ORIGIN)
    outside.provider.person = VERIFIED_ADA
    const browser = newBrowser()
    await signIn(browser)
    expect((await newBrowser().post('auth/sign-in', ADA)).httpStatus).toBe(401)
    outside.provider.person = { ...VERIFIED_ADA, sub: 'another-of-ada' }
    expect((await signIn(newBrowser())).httpStatus).toBe(200)
    expect((await browser.get('me')).httpStatus).toBe(200)
  })

  test.each([
    ['says is not verified', { email: ADA.email, email_verified: false }],
    ['says nothing of', { email: ADA.email }],
    ['does not have', {}],
  ])('an address that the provider %s does not sign in', async (_words, claims) => {
    await setUpOperator(world, ORIGIN)
    await invite('eve@example.org')
    outside.provider.person = { sub: 'mallory', ...claims }
    const browser = newBrowser()
    const answer = await signIn(browser)
    expect(errorOf(answer)).toEqual(NOT_INVITED)
    expect(answer.text).toContain('does not say that your email address is verified.')
    expect(answer.text).toContain('open the link of the invitation and sign in from there')
    expect((await browser.get('me')).httpStatus).toBe(401)
  })

  test('a verified stranger without an invitation gets one sentence, and no user is created', async () => {
    await setUpOperator(world, ORIGIN)
    outside.provider.person = { ...VERIFIED_ADA, sub: 'eve', email: 'eve@example.org' }
    const answer = await signIn(newBrowser())
    expect(errorOf(answer)).toEqual(NOT_INVITED)
    expect(answer.text).toContain('You have no invitation to this gateway.')
    const { db } = world.gateway.store
    expect(await db.selectFrom('users').select('email').execute()).toEqual([{ email: ADA.email }])
  })

  test('a verified address takes the open invitations of that address, once', async () => {
    await setUpOperator(world, ORIGIN)
    const { id } = await world.account()
    const token = await invite('eve@example.org', id)
    outside.provider.person = {
      sub: 'eve',
      email: 'EVE@example.org',
      email_verified: true,
      name: 'Eve',
    }
    const browser = newBrowser()
    const { json } = await signIn(browser)
    expect(json).toMatchObject({
      user: { name: 'Eve', email: 'eve@example.org', is_operator: false },
      accounts: [{ id, role: 'member' }],
    })
    const other = { token, name: 'Eve', password: ADA.password }
    expect(errorOf(await newBrowser().post('auth/invitation', other))).toMatchObject({
      code: 'invalid_link',
    })
  })

  test('a verified address takes no invitation that has expired', async () => {
    await setUpOperator(world, ORIGIN)
    const { id } = await world.account()
    await invite('eve@example.org', id)
    await invite('eve@example.org')
    world.passedMs = 8 * 24 * 60 * 60_000
    outside.provider.person = { ...VERIFIED_ADA, sub: 'eve', email: 'eve@example.org' }
    expect(errorOf(await signIn(newBrowser()))).toEqual(NOT_INVITED)
  })
})

describe('by the link of an invitation', () => {
  test('an identity without a verified address becomes the invited user', async () => {
    await setUpOperator(world, ORIGIN)
    const { id } = await world.account()
    outside.provider.person = { sub: 'eve', email: 'someone@example.net' }
    const { json } = await signIn(newBrowser(), await invite('eve@example.org', id))
    expect(json).toMatchObject({ user: { email: 'eve@example.org' }, accounts: [{ id }] })
    expect((await signIn(newBrowser())).httpStatus).toBe(200)
  })

  test('a person does not become another user, and the link stays valid', async () => {
    await setUpOperator(world, ORIGIN)
    const { id } = await world.account()
    const token = await invite(ADA.email, id)
    outside.provider.person = { sub: 'mallory', email: ADA.email, email_verified: false }
    expect(errorOf(await signIn(newBrowser(), token))).toEqual(NOT_INVITED)
    outside.provider.person = VERIFIED_ADA
    expect((await signIn(newBrowser(), token)).json).toMatchObject({ accounts: [{ id }] })
    expect(errorOf(await signIn(newBrowser(), token))).toMatchObject({ code: 'invalid_link' })
  })

  test('a later proof of the address ends the unproved identity', async () => {
    await setUpOperator(world, ORIGIN)
    outside.provider.person = { sub: 'mallory' }
    const early = newBrowser()
    await signIn(early, await invite('eve@example.org'))
    outside.provider.person = { sub: 'eve', email: 'eve@example.org', email_verified: true }
    expect((await signIn(newBrowser())).httpStatus).toBe(200)
    expect((await early.get('me')).httpStatus).toBe(401)
    outside.provider.person = { sub: 'mallory' }
    expect(errorOf(await signIn(newBrowser()))).toEqual(NOT_INVITED)
  })
})

describe('a sign-in is refused', () => {
  beforeEach(async () => {
    await setUpOperator(world, ORIGIN)
    outside.provider.person = VERIFIED_ADA
  })

  test('used twice, even at the same time', async () => {
    const browser = newBrowser()
    const query = await begin(browser)
    const kept = [...browser.cookies]
    const answers = await Promise.all(Array.from({ length: 5 }, () => finish(browser, query)))
    expect(answers.map(({ httpStatus }) => httpStatus).toSorted()).toEqual([
      200, 403, 403, 403, 403,
    ])
    for (const [name, value] of kept) browser.cookies.set(name, value)
    expect(errorOf(await finish(browser, query))).toEqual(REFUSED)
  })

  test('and the log has the reason of each refusal', async () => {
    const query = await begin(newBrowser())
    await finish(newBrowser(), query)
    const other = newBrowser()
    await begin(other)
    await finish(other, query)
    const slow = newBrowser()
    const late = await begin(slow)
    world.passedMs = 10 * 60_000
    await finish(slow, late)
    world.passedMs = 0
    outside.provider.person = { sub: 'mallory', email: 'mallory@example.org' }
    await signIn(newBrowser())
    expect(reasonsIn(world.log)).toEqual([
      'the browser sent no cookie of a sign-in',
      'the answer belongs to another sign-in',
      'the sign-in took more than ten minutes',
      expect.stringMatching(/^This provider does not say .* not_invited$/),
    ])
    expect(world.log.join('\n')).not.toContain('mallory')
  })

  test('in another browser, or without its cookie', async () => {
    const begun = newBrowser()
    const query = await begin(begun)
    expect(errorOf(await finish(newBrowser(), query))).toEqual(REFUSED)
    const other = newBrowser()
    await begin(other)
    expect(errorOf(await finish(other, query))).toEqual(REFUSED)
    expect((await finish(begun, query)).httpStatus).toBe(200)
  })

  test('after ten minutes', async () => {
    const browser = newBrowser()
    const query = await begin(browser)
    world.passedMs = 10 * 60_000
    expect(errorOf(await finish(browser, query))).toEqual(REFUSED)
  })

  test('from another site', async () => {
    const browser = newBrowser()
    const query = await begin(browser)
    const evil = new Browser(world, { origin: 'https://evil.example' })
    for (const [name, value] of browser.cookies) evil.cookies.set(name, value)
    const foreign = { httpStatus: 403, code: 'foreign_origin' }
    expect(errorOf(await finish(evil, query))).toMatchObject(foreign)
    expect(errorOf(await evil.post('auth/outside/begin', { provider: 'oidc' }))).toMatchObject(
      foreign,
    )
    expect((await browser.get(`auth/outside/finish?${query}`)).httpStatus).toBe(404)
    expect((await finish(browser, query)).httpStatus).toBe(200)
  })

  test('with an invalid code, or with the code of another sign-in', async () => {
    const browser = newBrowser()
    const mine = new URLSearchParams(await begin(browser))
    mine.set('code', 'not-a-code')
    expect(errorOf(await finish(browser, mine.toString()))).toEqual(REFUSED)
    const stolen = new URLSearchParams(await begin(newBrowser())).get('code') ?? ''
    const other = new URLSearchParams(await begin(browser))
    other.set('code', stolen)
    expect(errorOf(await finish(browser, other.toString()))).toEqual(REFUSED)
    expect((await browser.get('me')).httpStatus).toBe(401)
  })

  test('by the person, at the provider', async () => {
    outside.provider.refuses = true
    const browser = newBrowser()
    expect(errorOf(await signIn(browser))).toEqual(REFUSED)
    expect(world.log.join('\n')).toContain('access_denied')
  })

  test('with a wrong issuer in the answer', async () => {
    const browser = newBrowser()
    const query = new URLSearchParams(await begin(browser))
    query.set('iss', 'https://evil.example')
    expect(errorOf(await finish(browser, query.toString()))).toEqual(REFUSED)
  })

  test('of a provider that is not configured', async () => {
    const answer = await newBrowser().post('auth/outside/begin', { provider: 'google' })
    expect(errorOf(answer)).toMatchObject({ httpStatus: 404, code: 'not_found' })
  })
})

test('a provider leads back to the one address of the gateway, and no call names another', async () => {
  const { json } = await newBrowser().call('POST', 'auth/outside/begin', {
    body: { provider: 'oidc' },
    headers: { 'x-forwarded-host': 'evil.example' },
  })
  const { searchParams, origin } = new URL(String(json['url']))
  expect(origin).toBe(outside.provider.issuer)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    redirect_uri: 'https://gate.example.com/app/sign-in-return/oidc',
    response_type: 'code',
    code_challenge_method: 'S256',
    scope: 'openid email profile',
  })
  for (const field of ['next', 'redirect_uri']) {
    const body = { provider: 'oidc', [field]: 'https://evil.example' }
    expect(errorOf(await newBrowser().post('auth/outside/begin', body))).toMatchObject({
      httpStatus: 400,
      param: field,
    })
  }
})

test('the cookie of a started sign-in is hidden from scripts and other sites, and ends with the sign-in', async () => {
  await setUpOperator(world, ORIGIN)
  outside.provider.person = VERIFIED_ADA
  const browser = newBrowser()
  const begun = await browser.post('auth/outside/begin', { provider: 'oidc' })
  const [cookie = ''] = begun.headers.getSetCookie()
  expect(cookie).toMatch(
    /^__Host-tollgate_sign_in=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
  const query = await comeBack(String(begun.json['url']))
  await finish(browser, query)
  expect([...browser.cookies.keys()]).toEqual(['__Host-tollgate_session', '__Host-tollgate_known'])
})

test('no store and no log has the ticket, the code or the state of a sign-in', async () => {
  await setUpOperator(world, ORIGIN)
  outside.provider.person = VERIFIED_ADA
  const browser = newBrowser()
  const query = await begin(browser)
  const ticket = browser.cookies.get('__Host-tollgate_sign_in') ?? ''
  await finish(browser, query)
  const { db } = world.gateway.store
  const rows = JSON.stringify([
    await db.selectFrom('verifications').selectAll().execute(),
    await db.selectFrom('sign_ins').selectAll().execute(),
  ])
  const { code = '', state = '' } = Object.fromEntries(new URLSearchParams(query))
  for (const secretText of [ticket, code, state, CLIENT.secret]) {
    expect(secretText.length).toBeGreaterThan(10)
    expect(rows).not.toContain(secretText)
    expect(world.log.join('\n')).not.toContain(secretText)
  }
})

test('the removal of a user ends the sessions and the identity', async () => {
  await setUpOperator(world, ORIGIN)
  outside.provider.person = { sub: 'eve', email: 'eve@example.org', email_verified: true }
  await invite('eve@example.org')
  const browser = newBrowser()
  await signIn(browser)
  const late = newBrowser()
  const query = await begin(late)
  await remove(linkParts(world), { email: 'eve@example.org', accountId: null, asOperator: false })
  expect((await browser.get('me')).httpStatus).toBe(401)
  expect(errorOf(await finish(late, query))).toEqual(NOT_INVITED)
})

test.each(MADE_DATABASES)(
  'on $engine an identity that returns many times at once becomes one user',
  async ({ create }) => {
    const { url } = await databaseOfTest(create)
    await world.reopen({ DATABASE_URL: url })
    await setUpOperator(world, ORIGIN)
    await invite('eve@example.org')
    outside.provider.person = { sub: 'eve', email: 'eve@example.org', email_verified: true }
    const browsers = Array.from({ length: 6 }, newBrowser)
    const queries = await Promise.all(browsers.map((browser) => begin(browser)))
    const answers = await Promise.all(
      browsers.map((browser, nth) => finish(browser, queries[nth] ?? '')),
    )
    expect(answers.filter(({ httpStatus }) => httpStatus === 200).length).toBeGreaterThan(0)
    const { db } = world.gateway.store
    const users = await db.selectFrom('users').select('email').execute()
    expect(users.map(({ email }) => email).toSorted()).toEqual([ADA.email, 'eve@example.org'])
    const identities = await db
      .selectFrom('sign_ins')
      .select(['provider', 'provider_user_id as subject'])
      .where('provider', '!=', 'credential')
      .execute()
    expect(identities).toEqual([{ provider: outside.provider.issuer, subject: 'eve' }])
    expect((await signIn(newBrowser())).httpStatus).toBe(200)
    await world.reopen()
  },
)
