import { TOTP } from 'otpauth'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { makeLink } from '../../src/people/links.ts'
import { remove } from '../../src/people/removal.ts'
import {
  createMadeSqliteFile,
  MADE_DATABASES,
  type TestDatabase,
} from '../../src/store/testing/test-databases.ts'
import { startWorld, type World } from '../world.ts'
import { startProvider, type TestProvider } from './oidc-provider.ts'
import { begin, finish, ORIGIN, settingsOf } from './outside-browser.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'

const VICTIM = 'grace@example.org'
const THEIRS = 'what the stranger chose'
const OWN = 'what Grace chose herself'

let box: Mailbox
let provider: TestProvider
let database: TestDatabase
let world: World
let accountId: string
let passedMs: number

/** A gateway that sends email and trusts a provider, or neither. */
async function open(proves: 'proves' | 'proves nothing'): Promise<void> {
  const mail = { SMTP_URL: box.url, MAIL_FROM: 'Gate <gate@example.com>' }
  world = await startWorld({
    settings: {
      DATABASE_URL: database.url,
      TOLLGATE_TRUSTED_PROXIES: '127.0.0.1',
      TOLLGATE_PUBLIC_URL: ORIGIN.origin,
      ...(proves === 'proves' ? { ...mail, ...settingsOf(provider) } : {}),
    },
    clock: { nowMs: () => Date.now() + passedMs },
  })
}

const browserAt = (address: string) => new Browser(world, { ...ORIGIN, address })

/** Makes a user of another's address by an owner's invitation, with a password and a second factor. */
async function squat() {
  const owner = await inviteGuest(world, {
    email: 'owner@example.org',
    accountId,
    role: 'owner',
    ...ORIGIN,
  })
  const invited = await owner.post(`accounts/${accountId}/invitations`, {
    email: VICTIM,
    role: 'member',
  })
  const token = String(invited.json['url']).split('#')[1]
  const stranger = browserAt('198.51.100.66')
  const taken = await stranger.post('auth/invitation', { token, name: 'Grace', password: THEIRS })
  expect(taken.httpStatus).toBe(201)
  const begun = await stranger.post('auth/factors/app/begin')
  const secret = String(begun.json['secret'])
  const code = new TOTP({ secret }).generate({ timestamp: Date.now() + passedMs })
  expect((await stranger.post('auth/factors/app', { secret, code })).httpStatus).toBe(201)
  return { owner, stranger }
}

async function mailedText(index: number): Promise<string> {
  return /app\/[\w-]+#([\w-]{32})\n/.exec((await box.mail(index)).text)?.[1] ?? ''
}

async function restart(proves: 'proves' | 'proves nothing'): Promise<void> {
  await world.close()
  await open(proves)
}

beforeEach(async () => {
  passedMs = 0
  box = await startMailbox()
  provider = await startProvider()
  provider.allow(ORIGIN.origin)
})
afterEach(async () => {
  await world.close()
  await database.remove()
  await provider.close()
  await box.close()
})

/** Each way in which Grace proves her address. Her browser is signed in by it. */
const WAYS = {
  async link(grace: Browser) {
    await grace.post('auth/mail/sign-in', { email: VICTIM })
    expect((await box.mail(0)).text).toContain('second factors')
    return grace.post('auth/link', { token: await mailedText(0) })
  },
  async code(grace: Browser) {
    const { json } = await grace.post('auth/mail/sign-in', { email: VICTIM })
    const code = /^(\d{6})$/m.exec((await box.mail(0)).text)?.[1]
    return grace.post('auth/code', { ticket: json['ticket'], code })
  },
  async reset(grace: Browser) {
    await grace.post('auth/mail/reset', { email: VICTIM })
    expect((await box.mail(0)).text).toContain('second factors')
    return grace.post('auth/reset', { token: await mailedText(0), password: OWN })
  },
  async provider(grace: Browser) {
    provider.person = { sub: 'grace', email: VICTIM, email_verified: true }
    return finish(grace, await begin(grace))
  },
  async 'mailed invitation'(grace: Browser) {
    const other = await world.account()
    const chief = await inviteGuest(world, {
      email: 'chief@example.org',
      accountId: other.id,
      role: 'owner',
      ...ORIGIN,
    })
    const invitation = { email: VICTIM, role: 'member' }
    const { json } = await chief.post(`accounts/${other.id}/invitations`, invitation)
    expect(json).toMatchObject({ mailed: true })
    expect(json).not.toHaveProperty('url')
    const person = { token: await mailedText(0), name: 'Grace', password: OWN }
    return grace.post('auth/invitation', person)
  },
} as const

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  beforeEach(async () => {
    database = await create()
    await open('proves nothing')
    await setUpOperator(world, ORIGIN)
    accountId = (await world.account()).id
  })

  test.each(Object.entries(WAYS))(
    'a stranger who took an address by invitation is out once its owner proves it by %s',
    async (_, prove) => {
      const { stranger } = await squat()
      await restart('proves')
      const again = new Browser(world, { ...ORIGIN, address: '198.51.100.66' })
      for (const [name, value] of stranger.cookies) again.cookies.set(name, value)
      expect((await again.get('me')).httpStatus).toBe(200)

      const grace = browserAt('203.0.113.7')
      const { json } = await prove(grace)
      expect(json).toMatchObject({ object: 'me', user: { email: VICTIM, second_factor: 'off' } })
      expect((await grace.get('me')).json['accounts']).toContainEqual(
        expect.objectContaining({ id: accountId }),
      )
      expect((await again.get('me')).httpStatus).toBe(401)
      const password = await again.post('auth/sign-in', { email: VICTIM, password: THEIRS })
      expect(password.httpStatus).toBe(401)
      const { db } = world.gateway.store
      for (const table of ['authenticator_apps', 'passkeys', 'recovery_codes'] as const) {
        expect(await db.selectFrom(table).selectAll().execute()).toEqual([])
      }
      const factors = await grace.get('auth/factors')
      expect(factors.json).toMatchObject({ needs_proof: false })
      expect((await grace.post('auth/factors/app/begin')).httpStatus).toBe(200)
    },
  )
})

describe('if addresses can be proved', () => {
  beforeEach(async () => {
    database = await createMadeSqliteFile()
    await open('proves')
    await setUpOperator(world, ORIGIN)
    accountId = (await world.account()).id
  })

  /** A browser that took an invitation to another's address, which no email carried. */
  async function claim() {
    const guest = { email: VICTIM, accountId, role: 'owner', ...ORIGIN } as const
    return inviteGuest(world, { ...guest, address: '198.51.100.66' })
  }

  test('a user with an unproved address cannot add a second factor', async () => {
    const stranger = await claim()
    expect((await stranger.get('auth/factors')).json).toMatchObject({ needs_proof: true })
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
    for (const [path, body] of [
      ['auth/factors/app/begin', {}],
      ['auth/factors/app', { secret, code: new TOTP({ secret }).generate() }],
      ['auth/factors/passkey/begin', {}],
    ] as const) {
      expect(errorOf(await stranger.post(path, body))).toMatchObject({
        httpStatus: 403,
        code: 'address_not_proved',
      })
    }
    const grace = browserAt('203.0.113.7')
    expect((await WAYS.link(grace)).httpStatus).toBe(200)
    expect((await grace.post('auth/factors/app/begin')).httpStatus).toBe(200)
  })

  test('an identity with an unproved address loses the user when the address is proved', async () => {
    const link = { kind: 'invitation', email: VICTIM, isOperator: false } as const
    const membership = { accountId, role: 'member' } as const
    const { text: token } = await makeLink(linkParts(world), { ...link, membership })
    provider.person = { sub: 'stranger', email: VICTIM, email_verified: false }
    const stranger = browserAt('198.51.100.66')
    expect((await finish(stranger, await begin(stranger, { token }))).httpStatus).toBe(200)
    const grace = browserAt('203.0.113.7')
    await grace.post('auth/mail/sign-in', { email: VICTIM })
    expect((await grace.post('auth/link', { token: await mailedText(0) })).httpStatus).toBe(200)
    expect((await stranger.get('me')).httpStatus).toBe(401)
    const again = browserAt('198.51.100.66')
    expect((await finish(again, await begin(again))).httpStatus).toBe(403)
    expect((await grace.get('me')).httpStatus).toBe(200)
  })

  test('a removed user whose address an owner invites again has an unproved address', async () => {
    const grace = await claim()
    await grace.post('auth/mail/sign-in', { email: VICTIM })
    await grace.post('auth/link', { token: await mailedText(0) })
    expect((await grace.get('me')).json).toMatchObject({ user: { email_verified: true } })
    const clock = { nowMs: () => Date.now() + passedMs }
    const removal = { email: VICTIM, accountId: null, asOperator: false }
    await remove({ db: world.gateway.store.db, clock }, removal)
    const stranger = await claim()
    expect((await stranger.get('me')).json).toMatchObject({ user: { email_verified: false } })
    expect((await stranger.get('auth/factors')).json).toMatchObject({ needs_proof: true })
  })

  test('a link from the operator proves the address of its user, who can add a second factor', async () => {
    const email = 'guest@example.org'
    const link = { kind: 'invitation', email, isOperator: false, isVouched: true } as const
    const membership = { accountId, role: 'member' } as const
    const { text: token } = await makeLink(linkParts(world), { ...link, membership })
    const guest = browserAt('203.0.113.9')
    const person = { token, name: 'Guest', password: ADA.password }
    expect((await guest.post('auth/invitation', person)).httpStatus).toBe(201)
    expect((await guest.post('auth/factors/app/begin')).httpStatus).toBe(200)
  })

  test("a reset by the operator's link removes everything that a stranger set up, and proves the address", async () => {
    const stranger = await claim()
    const { json } = await stranger.get('me')
    const userId = String(Object(json['user']).id)
    const { text: token } = await makeLink(linkParts(world), { kind: 'reset', userId })
    const grace = browserAt('203.0.113.7')
    expect((await grace.post('auth/reset', { token, password: OWN })).httpStatus).toBe(200)
    expect((await stranger.get('me')).httpStatus).toBe(401)
    expect((await grace.post('auth/factors/app/begin')).httpStatus).toBe(200)
  })

  test("a reset by the operator's link ends an identity with an unproved address", async () => {
    const link = { kind: 'invitation', email: VICTIM, isOperator: false } as const
    const membership = { accountId, role: 'member' } as const
    const { text: invitation } = await makeLink(linkParts(world), { ...link, membership })
    provider.person = { sub: 'stranger', email: VICTIM, email_verified: false }
    const stranger = browserAt('198.51.100.66')
    await finish(stranger, await begin(stranger, { token: invitation }))
    const userId = String(Object((await stranger.get('me')).json['user']).id)
    const { text: token } = await makeLink(linkParts(world), { kind: 'reset', userId })
    const grace = browserAt('203.0.113.7')
    expect((await grace.post('auth/reset', { token, password: OWN })).httpStatus).toBe(200)
    const again = browserAt('198.51.100.66')
    expect((await finish(again, await begin(again))).httpStatus).toBe(403)
  })

  test("a person with a proved address and an owner's email needs their own password", async () => {
    const grace = await claim()
    await grace.post('auth/mail/reset', { email: VICTIM })
    await grace.post('auth/reset', { token: await mailedText(0), password: OWN })
    const owner = await inviteGuest(world, {
      email: 'owner@example.org',
      accountId,
      role: 'owner',
      ...ORIGIN,
    })
    await owner.post(`accounts/${accountId}/invitations`, { email: VICTIM, role: 'member' })
    const person = { token: await mailedText(1), name: 'Grace', password: THEIRS }
    expect(errorOf(await browserAt('203.0.113.8').post('auth/invitation', person))).toEqual({
      httpStatus: 401,
      code: 'invalid_sign_in',
      param: 'password',
    })
    expect((await grace.get('me')).httpStatus).toBe(200)
  })

  test('an account sends at most 40 invitations a day, and an address gets at most five, from all accounts', async () => {
    const operator = browserAt('203.0.113.1')
    await operator.post('auth/sign-in', ADA)
    const invite = async (account: string, email: string) =>
      (await operator.post(`accounts/${account}/invitations`, { email, role: 'member' })).httpStatus
    const statuses: number[] = []
    for (let nth = 0; nth < 6; nth++) {
      statuses.push(await invite((await world.account()).id, VICTIM))
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
    const sent: number[] = []
    for (let nth = 0; nth < 41; nth++) sent.push(await invite(accountId, `p${nth}@example.org`))
    expect(sent).toEqual([...new Array(40).fill(201), 429])
    passedMs = 24 * 60 * 60_000
    await operator.post('auth/sign-in', ADA)
    expect(await invite(accountId, VICTIM)).toBe(201)
  })
})
