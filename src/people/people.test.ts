import { randomFillSync } from 'node:crypto'
import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import { createMadeSqliteFile, MADE_DATABASES } from '../store/testing/test-databases.ts'
import { type StartTimer, systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import type { Problem } from '../vocabulary/problem.ts'
import { listFactors } from './factors/own-factors.ts'
import { makeLink } from './links.ts'
import { makeScryptPasswords, type Passwords } from './passwords.ts'
import { People } from './people.ts'
import type { NewSession, SignedIn } from './sessions.ts'
import { PasskeyDevice } from './testing/passkey-device.ts'
import { findUser, lockPassword, setPasswordHash } from './users.ts'

const ADA = { email: 'ada@example.org', password: 'correct horse battery' } as const
const OTHER = 'another horse battery'
const THIRD = 'a third horse battery'
const VISITOR = { address: '192.0.2.1', agent: 'Test browser', known: null }
const IDS = createIdSource({
  clock: systemClock,
  fillRandom: (bytes) => void randomFillSync(bytes),
})

let closing: (() => Promise<unknown>)[] = []
const PASSWORDS = makeScryptPasswords({ N: 1_024, r: 16 })

/** Runs once, after a password was checked and before anything follows from it. */
let afterCheck: (() => Promise<unknown>) | null = null

afterEach(async () => {
  for (const close of closing.toReversed()) await close()
  closing = []
  afterCheck = null
})

function peopleOf(store: Store, passwords: Passwords = PASSWORDS, startTimer?: StartTimer): People {
  return new People({
    ...store,
    clock: systemClock,
    ids: IDS,
    joinsFirstAccount: false,
    signUp: null,
    passwords,
    startTimer,
  })
}

/** A store in which the first operator, Ada, is signed in. */
class Place {
  readonly store: Store
  readonly people: People
  readonly ada: SignedIn

  private constructor(store: Store, people: People, ada: SignedIn) {
    this.store = store
    this.people = people
    this.ada = ada
  }

  static async open(url: string): Promise<Place> {
    const store = await openStore({ url })
    closing.push(() => store.close())
    const people = peopleOf(store, {
      ...PASSWORDS,
      async isRight(checked) {
        const isRight = await PASSWORDS.isRight(checked)
        const happens = afterCheck
        afterCheck = null
        await happens?.()
        return isRight
      },
    })
    const link = await makeLink({ ...store, clock: systemClock, ids: IDS }, { kind: 'setup' })
    const made = await people.setUp({ linkText: link.text, name: 'Ada', ...ADA }, VISITOR)
    const ada = await people.sessions.find(made.sessionToken)
    if (ada === null) throw new Error('Ada is not signed in')
    return new Place(store, people, ada)
  }

  signIn(password: string): Promise<NewSession> {
    return this.people.signIn({ email: ADA.email, password }, VISITOR)
  }

  change(currentPassword: string, password: string): Promise<void> {
    const change = { signedIn: this.ada, currentPassword, password }
    return this.people.changePassword(change, VISITOR)
  }

  /** The text of a new link that resets Ada's password. */
  async resetLink(): Promise<string> {
    const { id: userId } = this.ada.user
    const parts = { ...this.store, clock: systemClock, ids: IDS }
    return (await makeLink(parts, { kind: 'reset', userId })).text
  }

  async reset(linkText: string, password: string): Promise<NewSession> {
    return this.people.resetPassword({ linkText, password }, VISITOR)
  }

  /** Gives Ada an authenticator app. Returns its code of the next 30 seconds, and recovery codes. */
  async addApp() {
    const { secret } = this.people.factorSetup.beginApp(this.ada.user)
    const app = new TOTP({ secret })
    const code = app.generate()
    const { recoveryCodes } = await this.people.factorSetup.addApp({
      signedIn: this.ada,
      secret,
      code,
    })
    return { next: app.generate({ timestamp: Date.now() + 30_000 }), recoveryCodes }
  }

  /** Gives Ada a passkey. */
  async addPasskey(): Promise<PasskeyDevice> {
    const device = new PasskeyDevice(SITE)
    const asked = await this.people.factorSetup.beginPasskey(this.ada, SITE)
    const answer = device.make(asked)
    const added = { signedIn: this.ada, site: SITE, name: 'A key', answer }
    await this.people.factorSetup.addPasskey(added)
    return device
  }

  async sessionIds(): Promise<readonly string[]> {
    return (await this.people.sessions.list(this.ada)).map(({ id }) => id)
  }
}

const SITE = { origin: 'https://gate.example.com', host: 'gate.example.com' }
const NOT_SIGNED_IN = expect.objectContaining({ code: 'not_signed_in' })
const WRONG = expect.objectContaining({ code: 'invalid_sign_in' })
const BUSY = expect.objectContaining({ code: 'service_unavailable' })
const USED = expect.objectContaining({ code: 'invalid_link' })

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let place: Place

  beforeEach(async () => {
    const database = await create()
    closing.push(() => database.remove())
    place = await Place.open(database.url)
  })

  test('a password that is changed while it is checked lets no one in', async () => {
    afterCheck = () => place.change(ADA.password, OTHER)
    await expect(place.signIn(ADA.password)).rejects.toEqual(WRONG)
    expect(await place.sessionIds()).toEqual([place.ada.sessionId])
    await place.signIn(OTHER)
  })

  test('of two changes of a password at the same time, the first one holds', async () => {
    afterCheck = () => place.change(ADA.password, OTHER)
    await expect(place.change(ADA.password, THIRD)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(OTHER)
  })

  test('of many who show one code at the same time, one is let in', async () => {
    const { next, recoveryCodes } = await place.addApp()
    const { factors, sessions } = place.people
    for (const code of [next, recoveryCodes?.[0] ?? '']) {
      const tokens = await Promise.all([1, 2, 3, 4].map(() => place.signIn(ADA.password)))
      const shown = await Promise.allSettled(
        tokens.map(async ({ sessionToken }) => {
          const waiting = await sessions.findWaiting(sessionToken)
          if (waiting === null) throw new Error('no session waits')
          return factors.letIn(waiting, { kind: 'code', code })
        }),
      )
      expect(shown.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const found = await Promise.all(tokens.map((first) => sessions.find(first.sessionToken)))
      expect(found).toEqual(tokens.map(() => null))
    }
  })

  test('what a passkey has signed lets in once, of many who show it at the same time', async () => {
    const device = await place.addPasskey()
    const { factors, sessions } = place.people
    const { sessionToken } = await place.signIn(ADA.password)
    expect(await sessions.find(sessionToken)).toBeNull()
    const waiting = await sessions.findWaiting(sessionToken)
    const asked = waiting === null ? null : await factors.challenge(waiting, SITE)
    if (waiting === null || asked === null) throw new Error('no session waits for a passkey')
    const proof = { kind: 'passkey', site: SITE, answer: device.sign(asked) } as const
    const shown = await Promise.allSettled([1, 2, 3, 4].map(() => factors.letIn(waiting, proof)))
    expect(shown.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await sessions.find(sessionToken)).toBeNull()
  })

  test('a session token from before the second factor was shown is worth nothing after it', async () => {
    const { next: code, recoveryCodes } = await place.addApp()
    const { factors, sessions } = place.people
    const { sessionToken } = await place.signIn(ADA.password)
    const waiting = await sessions.findWaiting(sessionToken)
    if (waiting === null) throw new Error('no session waits')
    const made = await factors.letIn(waiting, { kind: 'code', code })
    const again = { kind: 'code', code: recoveryCodes?.[0] ?? '' } as const
    await expect(factors.letIn(waiting, again)).rejects.toEqual(NOT_SIGNED_IN)
    expect(await sessions.find(made.sessionToken)).toMatchObject({ sessionId: waiting.sessionId })
    expect(await sessions.find(sessionToken)).toBeNull()
    expect(await sessions.findWaiting(sessionToken)).toBeNull()
  })

  test('a session that ends before its passkey comes adds none', async () => {
    const { user, sessionId } = place.ada
    const asked = await place.people.factorSetup.beginPasskey(place.ada, SITE)
    const answer = new PasskeyDevice(SITE).make(asked)
    await place.people.sessions.end({ userId: user.id, sessionId })
    const added = { signedIn: place.ada, site: SITE, name: 'A key', answer }
    await expect(place.people.factorSetup.addPasskey(added)).rejects.toBeDefined()
    expect(await listFactors(place.store.db, user.id)).toEqual([])
  })

  test('a password that is changed while an app is added leaves the session no app', async () => {
    const { secret } = place.people.factorSetup.beginApp(place.ada.user)
    const code = new TOTP({ secret }).generate()
    await place.reset(await place.resetLink(), OTHER)
    const adding = place.people.factorSetup.addApp({ signedIn: place.ada, secret, code })
    await expect(adding).rejects.toEqual(NOT_SIGNED_IN)
    await expect(place.signIn(OTHER)).resolves.toBeDefined()
  })

  test('a session that ends while it changes the password leaves it as it was', async () => {
    const { user, sessionId } = place.ada
    afterCheck = () => place.people.sessions.end({ userId: user.id, sessionId })
    await expect(place.change(ADA.password, OTHER)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(ADA.password)
  })

  test('a reset while a password is changed is not undone by it', async () => {
    const linkText = await place.resetLink()
    afterCheck = () => place.reset(linkText, OTHER)
    await expect(place.change(ADA.password, THIRD)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(OTHER)
  })

  test('an invitation is not accepted with a password that is changed meanwhile', async () => {
    const parts = { ...place.store, clock: systemClock, ids: IDS }
    const invitation = { kind: 'invitation', email: ADA.email, isOperator: true } as const
    const { text: linkText } = await makeLink(parts, { ...invitation, membership: null })
    const accept = (password: string) =>
      place.people.acceptInvitation({ linkText, name: 'Ada', password }, VISITOR)
    afterCheck = () => place.change(ADA.password, OTHER)
    await expect(accept(ADA.password)).rejects.toEqual(WRONG)
    await accept(OTHER)
  })

  test('a reset link works until there is a newer one, or another password', async () => {
    const first = await place.resetLink()
    const second = await place.resetLink()
    await expect(place.reset(first, OTHER)).rejects.toEqual(USED)
    await place.change(ADA.password, OTHER)
    await expect(place.reset(second, THIRD)).rejects.toEqual(USED)
    await place.reset(await place.resetLink(), THIRD)
    await place.signIn(THIRD)
  })

  test('of two reset links of before that are taken at the same time, one works', async () => {
    const links = [await place.resetLink(), await place.resetLink()]
    // As a store of an earlier release has them.
    await place.store.db.updateTable('links').set({ used_at_ms: null }).execute()
    const taken = await Promise.allSettled(links.map((linkText) => place.reset(linkText, OTHER)))
    expect(taken.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(taken).toContainEqual({ status: 'rejected', reason: USED })
    expect(await place.sessionIds()).toHaveLength(1)
  })
})

test('a sign-in waits for another process that is changing the password, and is refused', async () => {
  const database = await MADE_DATABASES.find(({ engine }) => engine === 'PostgreSQL')?.create()
  if (database === undefined) throw new Error('there is no PostgreSQL')
  closing.push(() => database.remove())
  const place = await Place.open(database.url)
  const { db } = place.store
  const user = await findUser(db, ADA.email)
  const changed = { userId: user?.id ?? '', passwordHash: 'another', nowMs: 0 }
  const signIn = await db.transaction().execute(async (trx) => {
    await lockPassword(trx, changed.userId)
    await setPasswordHash(trx, changed)
    await trx.deleteFrom('sessions').execute()
    const attempt = expect(place.signIn(ADA.password)).rejects.toEqual(WRONG)
    // Its session is made before the change ends, and too late to be ended by it.
    let sessions: readonly string[] = []
    while (sessions.length < 2) sessions = await place.sessionIds()
    return { attempt }
  })
  await signIn.attempt
  expect(await place.sessionIds()).toEqual([])
})

test('of a setup link and an invitation that are taken at the same time, one makes the first user', async () => {
  const database = await MADE_DATABASES.find(({ engine }) => engine === 'PostgreSQL')?.create()
  if (database === undefined) throw new Error('there is no PostgreSQL')
  closing.push(() => database.remove())
  const store = await openStore({ url: database.url })
  closing.push(() => store.close())
  const ledger = createLedger({ location: store.location })
  closing.push(() => ledger.close())
  await ledger.createAccount({ id: 'acct_1', name: 'one' })
  const parts = { db: store.db, clock: systemClock, ids: IDS }
  const membership = { accountId: 'acct_1', role: 'owner' } as const
  const to = { email: 'eve@example.org', isOperator: true, membership }
  const invitation = await makeLink(parts, { kind: 'invitation', ...to })
  const setup = await makeLink(parts, { kind: 'setup' })
  const people = peopleOf(store, { ...PASSWORDS, hash: async () => 'a hash that takes no time' })

  // The invitation's transaction has made its user, and waits for the account.
  const { invited, made } = await store.db.transaction().execute(async (trx) => {
    await sql`select id from accounts for update`.execute(trx)
    const guest = { linkText: invitation.text, name: 'Eve', password: OTHER }
    const invited = Promise.allSettled([people.acceptInvitation(guest, VISITOR)])
    await lockWaits(store, 1)
    const first = { linkText: setup.text, name: 'Ada', ...ADA }
    const made = Promise.allSettled([people.setUp(first, VISITOR)])
    await Promise.race([made, lockWaits(store, 2)])
    return { invited, made }
  })
  expect(await invited).toMatchObject([{ status: 'fulfilled' }])
  expect(await made).toEqual([{ status: 'rejected', reason: USED }])
  const users = await store.db.selectFrom('users').select('email').execute()
  expect(users).toEqual([{ email: 'eve@example.org' }])
})

/** Resolves once so many statements of a PostgreSQL database wait for others. */
async function lockWaits({ db }: Store, count: number): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ waits: number }>`
      select count(*) as waits from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    if ((rows[0]?.waits ?? 0) >= count) return
  }
}

test('no count of wrong passwords keeps out a person who takes a link', async () => {
  const database = await createMadeSqliteFile()
  closing.push(() => database.remove())
  const store = await openStore({ url: database.url })
  closing.push(() => store.close())
  const people = peopleOf(store)
  const parts = { db: store.db, clock: systemClock, ids: IDS }
  const eve = { email: 'eve@example.org', isOperator: true, membership: null }
  const links = {
    setup: await makeLink(parts, { kind: 'setup' }),
    invitation: await makeLink(parts, { kind: 'invitation', ...eve }),
  }
  for (const { email } of [ADA, eve]) {
    for (let i = 0; i < 5; i++) {
      const wrong = people.signIn({ email, password: 'wrong' }, VISITOR)
      await expect(wrong).rejects.toMatchObject({ name: 'Problem' })
    }
  }
  const { setup, invitation } = links
  const first = await people.setUp({ linkText: setup.text, name: 'Ada', ...ADA }, VISITOR)
  const guest = { linkText: invitation.text, name: 'Eve', password: OTHER }
  const second = await people.acceptInvitation(guest, VISITOR)
  expect(await people.sessions.find(first.sessionToken)).not.toBeNull()
  expect(await people.sessions.find(second.sessionToken)).not.toBeNull()
})

describe('while the server is busy', () => {
  let place: Place

  beforeEach(async () => {
    const database = await createMadeSqliteFile()
    closing.push(() => database.remove())
    place = await Place.open(database.url)
  })

  test('a sign-in that is refused because too many wait is no wrong password', async () => {
    const { promise: freed, resolve: free } = Promise.withResolvers<void>()
    const slow: Passwords = {
      ...PASSWORDS,
      async isRight({ password }) {
        await freed
        return password === ADA.password
      },
    }
    const people = peopleOf(place.store, slow, ({ run }) => {
      run()
      return () => {}
    })
    let strangers = 0
    /** Two run and 32 wait: the oldest of the network gives way to each of these. */
    const flood = () =>
      Array.from({ length: 34 }, () => {
        const person = { email: `user${strangers++}@example.org`, password: 'wrong' }
        return people.signIn(person, VISITOR).catch(({ code }: Problem) => code)
      })
    const others = flood()
    for (let i = 0; i < 6; i++) {
      const refused = expect(people.signIn(ADA, VISITOR)).rejects.toEqual(BUSY)
      others.push(...flood())
      await refused
    }
    free()
    await Promise.all(others)
    await people.signIn(ADA, VISITOR)
  })
})
