import { TOTP } from 'otpauth'
import { beforeEach, describe, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../store/testing/test-databases.ts'
import { PasskeyDevice } from '../testing/passkey-device.ts'
import { ADA, Place, SITE } from '../testing/place.ts'
import { listFactors } from './own-factors.ts'
import { keepChallenge, takeChallenge } from './second-factors.ts'

const NOT_SIGNED_IN = expect.objectContaining({ code: 'not_signed_in' })

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let place: Place

  beforeEach(async () => {
    place = await Place.on(create)
  })

  test('of many sign-ins with one code at the same time, one succeeds', async () => {
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

  test('of many sign-ins with one passkey signature at the same time, one succeeds', async () => {
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

  test('the challenge of a session is used once, even if many ask for it at the same time', async () => {
    const { sessionId } = place.ada
    const of = { sessionId, nowMs: Date.now() }
    await keepChallenge(place.store.db, { ...of, challenge: 'to sign' })
    const taken = await Promise.all([1, 2, 3, 4].map(() => takeChallenge(place.store.db, of)))
    expect(taken.filter((challenge) => challenge !== null)).toEqual(['to sign'])
  })

  test('a session token from before the second factor no longer works after it', async () => {
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

  test('a session that ends before its passkey arrives adds no passkey', async () => {
    const { user, sessionId } = place.ada
    const asked = await place.people.factorSetup.beginPasskey(place.ada, SITE)
    const answer = new PasskeyDevice(SITE).make(asked)
    await place.people.sessions.end({ userId: user.id, sessionId })
    const added = { signedIn: place.ada, site: SITE, name: 'A key', answer }
    await expect(place.people.factorSetup.addPasskey(added)).rejects.toBeDefined()
    expect(await listFactors(place.store.db, user.id)).toEqual([])
  })

  test('no app is added by a session whose password changes meanwhile', async () => {
    const { secret } = place.people.factorSetup.beginApp(place.ada.user)
    const code = new TOTP({ secret }).generate()
    await place.reset(await place.resetLink(), 'another horse battery')
    const adding = place.people.factorSetup.addApp({ signedIn: place.ada, secret, code })
    await expect(adding).rejects.toEqual(NOT_SIGNED_IN)
    await expect(place.signIn('another horse battery')).resolves.toBeDefined()
  })
})
