import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { makeLink } from '../../src/people/links.ts'
import { remove } from '../../src/people/removal.ts'
import {
  createMadeSqliteFile,
  databaseOfTest,
  MADE_DATABASES,
} from '../../src/store/testing/test-databases.ts'
import { startWorld, type World } from '../world.ts'
import { startProvider } from './oidc-provider.ts'
import { begin, browserOf, finish, NOT_INVITED, ORIGIN, settingsOf } from './outside-browser.ts'
import { ADA, Browser, errorOf, linkParts, setUpOperator, tracesOf } from './page-client.ts'

/** People sign up without an invitation if the operator allows it. */

const EVE = 'eve@example.org'

let box: Mailbox
let world: World
let passedMs = 0

async function open(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  passedMs = 0
  world = await startWorld({
    settings: {
      MAIL_FROM: 'Gate <gate@example.com>',
      SMTP_URL: box.url,
      TOLLGATE_TRUSTED_PROXIES: '127.0.0.1',
      TOLLGATE_PUBLIC_URL: ORIGIN.origin,
      TOLLGATE_SIGN_UP: 'open',
      ...settings,
    },
    clock: { nowMs: () => Date.now() + passedMs },
  })
}

beforeEach(async () => {
  box = await startMailbox()
})
afterEach(async () => {
  await world.close()
  await box.close()
})

const browserAt = (address = '203.0.113.7') => new Browser(world, { ...ORIGIN, address })

/** Asks for an email, and types the code that is in it. */
async function signUp(browser: Browser, { email, mail }: { email: string; mail: number }) {
  const { json } = await browser.post('auth/mail/sign-in', { email })
  const code = /^(\d{6})$/m.exec((await box.mail(mail)).text)?.[1]
  return browser.post('auth/code', { ticket: json['ticket'], code })
}

async function accountsOf(browser: Browser): Promise<readonly Record<string, unknown>[]> {
  return Object((await browser.get('me')).json['accounts'])
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  beforeEach(async () => {
    const { url } = await databaseOfTest(create)
    await open({ DATABASE_URL: url })
    await setUpOperator(world, ORIGIN)
  })
  afterEach(() => world.close())

  test('a person who proves an address owns exactly one account, without credit', async () => {
    const browser = browserAt()
    const answer = await signUp(browser, { email: 'Eve@example.org', mail: 0 })
    expect([answer.httpStatus, answer.json]).toMatchObject([
      200,
      { user: { email: EVE, name: EVE, is_operator: false } },
    ])
    const [account] = await accountsOf(browser)
    expect(account).toMatchObject({ name: EVE, role: 'owner' })
    const balance = await browser.get(`accounts/${account?.['id']}/balance`)
    expect(balance.json).toMatchObject({ total: { balance: 0, available: 0 } })
    const key = await browser.post(`accounts/${account?.['id']}/keys`, { name: 'laptop' })
    expect(key.httpStatus).toBe(201)
    // As a user, who has the letter of users now.
    const again = browserAt()
    expect((await signUp(again, { email: EVE, mail: 1 })).httpStatus).toBe(200)
    expect((await box.mail(1)).text).not.toContain('account is made')
    expect(await accountsOf(again)).toEqual(await accountsOf(browser))
  })

  test('a person who was removed gets another account, and never the old one', async () => {
    await signUp(browserAt(), { email: EVE, mail: 0 })
    const { db } = world.gateway.store
    const [account] = await db.selectFrom('accounts').select('id').execute()
    await remove(linkParts(world), { email: EVE, accountId: null, asOperator: false })
    const browser = browserAt()
    await signUp(browser, { email: EVE, mail: 1 })
    const accounts = await accountsOf(browser)
    expect(accounts).toMatchObject([{ name: EVE, role: 'owner' }])
    expect(accounts[0]?.['id']).not.toBe(account?.id)
  })

  test('of two simultaneous sign-ins without an account, one creates it', async () => {
    await signUp(browserAt(), { email: EVE, mail: 0 })
    const { db } = world.gateway.store
    await db.deleteFrom('members').execute()
    await db.updateTable('accounts').set({ external_id: null }).execute()
    const tokens: (string | undefined)[] = []
    for (const mail of [1, 2]) {
      await browserAt().post('auth/mail/sign-in', { email: EVE })
      tokens.push(/#([\w-]{32})\n/.exec((await box.mail(mail)).text)?.[1])
    }
    const answers = await Promise.all(
      tokens.map((token) => browserAt().post('auth/link', { token })),
    )
    expect(answers.map(({ httpStatus }) => httpStatus)).toEqual([200, 200])
    expect((await db.selectFrom('members').select('user_id').execute()).length).toBe(1)
  })

  test('of two simultaneous clicks on one link, one creates the user', async () => {
    await browserAt().post('auth/mail/sign-in', { email: EVE })
    const token = /#([\w-]{32})\n/.exec((await box.mail(0)).text)?.[1]
    const clicks = [browserAt(), browserAt('203.0.113.8')]
    const answers = await Promise.all(clicks.map((each) => each.post('auth/link', { token })))
    expect(answers.map(({ httpStatus }) => httpStatus).sort()).toEqual([200, 404])
    const { db } = world.gateway.store
    expect((await db.selectFrom('users').select('id').execute()).length).toBe(2)
    expect((await db.selectFrom('accounts').select('id').execute()).length).toBe(1)
  })
})

test('a user and a stranger who ask for an email get the same answer, after the same statements', async () => {
  await open()
  await setUpOperator(world, ORIGIN)
  const traces = (email: string) =>
    tracesOf(world, () => browserAt().post('auth/mail/sign-in', { email }))
  const [user, stranger] = [await traces(ADA.email), await traces(EVE)]
  expect([stranger.shape, stranger.written]).toEqual([user.shape, user.written])
  const lengths = [user, stranger].map(({ json }) => String(json['ticket']).length)
  expect(lengths[0]).toBe(lengths[1])
})

test('five people a day can sign up from one address, and the link of a sixth stays valid', async () => {
  await open()
  await setUpOperator(world, ORIGIN)
  for (let mail = 0; mail < 5; mail++) {
    const person = { email: `person${mail}@example.org`, mail }
    expect((await signUp(browserAt(), person)).httpStatus).toBe(200)
  }
  await makeLink(linkParts(world), {
    ...{ kind: 'invitation', email: 'invited@example.org', isOperator: false },
    membership: { accountId: (await world.account()).id, role: 'member' },
  })
  const invited = await signUp(browserAt(), { email: 'invited@example.org', mail: 5 })
  expect(invited.httpStatus).toBe(200)
  const refused = await signUp(browserAt(), { email: EVE, mail: 6 })
  expect(errorOf(refused)).toMatchObject({ httpStatus: 429, code: 'rate_limited' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(23 * 3_600)
  const token = /#([\w-]{32})\n/.exec((await box.mail(6)).text)?.[1]
  expect((await browserAt('203.0.113.8').post('auth/link', { token })).httpStatus).toBe(200)
  passedMs = 24 * 3_600_000
  expect((await signUp(browserAt(), { email: 'late@example.org', mail: 7 })).httpStatus).toBe(200)
})

test('open invitations of the address are accepted at once, and no other account is created', async () => {
  await open()
  await setUpOperator(world, ORIGIN)
  const { id } = await world.account()
  const membership = { accountId: id, role: 'member' } as const
  const invitation = { kind: 'invitation', email: EVE, isOperator: false, membership } as const
  await makeLink(linkParts(world), invitation)
  const browser = browserAt()
  await signUp(browser, { email: EVE, mail: 0 })
  expect(await accountsOf(browser)).toMatchObject([{ id, role: 'member' }])
})

test('before the first operator exists a stranger gets no email, and the setup link works', async () => {
  await open()
  const asked = await browserAt().post('auth/mail/sign-in', { email: EVE })
  expect(asked.httpStatus).toBe(200)
  await setUpOperator(world, ORIGIN)
  await browserAt().post('auth/mail/sign-in', { email: ADA.email })
  expect((await box.mail(0)).to).toEqual([ADA.email])
})

test('a stranger gets no email if people join only by invitation, and the page says how they join', async () => {
  await open({ TOLLGATE_SIGN_UP: 'invited' })
  await setUpOperator(world, ORIGIN)
  expect((await browserAt().get('start')).json).toMatchObject({ sign_up: 'invited' })
  await browserAt().post('auth/mail/sign-in', { email: EVE })
  await browserAt().post('auth/mail/sign-in', { email: ADA.email })
  expect((await box.mail(0)).to).toEqual([ADA.email])
})

test('a sign-up link stops working when sign-up is turned off', async () => {
  const { url: DATABASE_URL } = await databaseOfTest(createMadeSqliteFile)
  await open({ DATABASE_URL })
  await setUpOperator(world, ORIGIN)
  await browserAt().post('auth/mail/sign-in', { email: EVE })
  const token = /#([\w-]{32})\n/.exec((await box.mail(0)).text)?.[1]
  await world.close()
  await open({ DATABASE_URL, TOLLGATE_SIGN_UP: 'invited' })
  const answer = await browserAt().post('auth/link', { token })
  expect(errorOf(answer)).toMatchObject({ httpStatus: 404, code: 'invalid_link' })
  await world.close()
})

test('an address that a provider calls verified can sign up, and an unverified one is refused', async () => {
  const provider = await startProvider()
  provider.allow(ORIGIN.origin)
  await open(settingsOf(provider))
  await setUpOperator(world, ORIGIN)
  const signIn = async (browser: Browser) => finish(browser, await begin(browser, { token: '' }))
  provider.person = { sub: 'mallory', email: 'm@example.org', email_verified: false }
  expect(errorOf(await signIn(browserOf(world)))).toEqual(NOT_INVITED)
  provider.person = { sub: 'eve', email: EVE, email_verified: true, name: 'Eve' }
  const browser = browserOf(world)
  expect((await signIn(browser)).json).toMatchObject({ user: { email: EVE, name: 'Eve' } })
  expect(await accountsOf(browser)).toMatchObject([{ name: 'Eve', role: 'owner' }])
  const again = browserOf(world)
  await signIn(again)
  expect(await accountsOf(again)).toEqual(await accountsOf(browser))
  await provider.close()
})
