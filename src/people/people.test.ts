import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { lockWaits } from '../store/testing/lock-waits.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import {
  createMadeSqliteFile,
  MADE_DATABASES,
  storeOfTest,
} from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import type { Problem } from '../vocabulary/problem.ts'
import { makeLink } from './links.ts'
import type { Passwords } from './passwords.ts'
import { ADA, IDS, PASSWORDS, Place, peopleOf, VISITOR } from './testing/place.ts'
import { findUser, lockPassword, setPasswordHash } from './users.ts'

const OTHER = 'another horse battery'
const THIRD = 'a third horse battery'

const NOT_SIGNED_IN = expect.objectContaining({ code: 'not_signed_in' })
const WRONG = expect.objectContaining({ code: 'invalid_sign_in' })
const BUSY = expect.objectContaining({ code: 'service_unavailable' })
const USED = expect.objectContaining({ code: 'invalid_link' })

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let place: Place

  beforeEach(async () => {
    place = await Place.on(create)
  })

  test('a password that is changed while it is checked does not sign in', async () => {
    place.afterCheck(() => place.change(ADA.password, OTHER))
    await expect(place.signIn(ADA.password)).rejects.toEqual(WRONG)
    expect(await place.sessionIds()).toEqual([place.ada.sessionId])
    await place.signIn(OTHER)
  })

  test('of two simultaneous changes of a password, the first one wins', async () => {
    place.afterCheck(() => place.change(ADA.password, OTHER))
    await expect(place.change(ADA.password, THIRD)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(OTHER)
  })

  test('a session that ends while it changes the password leaves the password unchanged', async () => {
    const { user, sessionId } = place.ada
    place.afterCheck(() => place.people.sessions.end({ userId: user.id, sessionId }))
    await expect(place.change(ADA.password, OTHER)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(ADA.password)
  })

  test('a reset while a password is changed is not undone by it', async () => {
    const linkText = await place.resetLink()
    place.afterCheck(() => place.reset(linkText, OTHER))
    await expect(place.change(ADA.password, THIRD)).rejects.toEqual(NOT_SIGNED_IN)
    await place.signIn(OTHER)
  })

  test('an invitation is not accepted with a password that changes during the check', async () => {
    const parts = { ...place.store, clock: systemClock, ids: IDS }
    const invitation = { kind: 'invitation', email: ADA.email, isOperator: true } as const
    const { text: linkText } = await makeLink(parts, { ...invitation, membership: null })
    const accept = (password: string) =>
      place.people.acceptInvitation({ linkText, name: 'Ada', password }, VISITOR)
    place.afterCheck(() => place.change(ADA.password, OTHER))
    await expect(accept(ADA.password)).rejects.toEqual(WRONG)
    await accept(OTHER)
  })

  test('a reset link works until a newer link is made or the password changes', async () => {
    const first = await place.resetLink()
    const second = await place.resetLink()
    await expect(place.reset(first, OTHER)).rejects.toEqual(USED)
    await place.change(ADA.password, OTHER)
    await expect(place.reset(second, THIRD)).rejects.toEqual(USED)
    await place.reset(await place.resetLink(), THIRD)
    await place.signIn(THIRD)
  })

  test('of two unused reset links of an earlier release that are opened at the same time, one works', async () => {
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
  const place = await Place.on(createPostgresDatabase)
  const { db } = place.store
  const user = await findUser(db, ADA.email)
  const changed = { userId: user?.id ?? '', passwordHash: 'another' }
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

test('of a setup link and an invitation that are accepted at the same time, one creates the first user', async () => {
  const store = await storeOfTest(createPostgresDatabase)
  const ledger = createLedger({ location: store.location })
  onTestFinished(() => ledger.close())
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
    await lockWaits(store.db, 1)
    const first = { linkText: setup.text, name: 'Ada', ...ADA }
    const made = Promise.allSettled([people.setUp(first, VISITOR)])
    await Promise.race([made, lockWaits(store.db, 2)])
    return { invited, made }
  })
  expect(await invited).toMatchObject([{ status: 'fulfilled' }])
  expect(await made).toEqual([{ status: 'rejected', reason: USED }])
  const users = await store.db.selectFrom('users').select('email').execute()
  expect(users).toEqual([{ email: 'eve@example.org' }])
})

test('a person with a link gets in after any number of wrong passwords', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
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

test('after a reset the new password works at once, after any number of wrong passwords', async () => {
  const place = await Place.on(createMadeSqliteFile)
  for (let i = 0; i < 5; i++) await expect(place.signIn('wrong')).rejects.toThrow()
  await place.reset(await place.resetLink(), OTHER)
  await place.signIn(OTHER)
})

describe('while the server is busy', () => {
  let place: Place

  beforeEach(async () => {
    place = await Place.on(createMadeSqliteFile)
  })

  test('a sign-in that is refused because too many wait does not count as a wrong password', async () => {
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
