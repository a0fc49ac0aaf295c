import { beforeEach, describe, expect, test } from 'vitest'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import { MADE_DATABASES } from '../store/testing/test-databases.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { SignInLog } from './sign-in-log.ts'
import { ADA, Place, VISITOR } from './testing/place.ts'

const YEAR_MS = 365 * 24 * HOUR_MS

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let place: Place
  let log: SignInLog
  let nowMs = 0

  beforeEach(async () => {
    place = await Place.on(create)
    nowMs = Date.now()
    const clock = { nowMs: () => nowMs }
    const ids = createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) })
    const onFailure = (cause: unknown) => expect.unreachable(String(cause))
    log = new SignInLog({ ...place.store, clock, ids, onFailure })
  })

  const attempt = { method: 'password', visitor: VISITOR }

  /** The recorded actions, the oldest first, with the attempts before each that were only counted. */
  async function recorded(): Promise<unknown[]> {
    await log.settled()
    const { rows } = await listOperatorActions(place.store.db, { limit: 100, cursor: null })
    return rows
      .toReversed()
      .map(({ action, detailJson }) => [action, JSON.parse(detailJson).not_recorded ?? 0])
  }

  test('a flood of wrong passwords for an operator is five records an hour of one address and twenty of all, then one every five minutes, which has the number of the others', async () => {
    nowMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
    const failFrom = async (address: string) => {
      nowMs++
      log.failed({ email: ADA.email }, { ...attempt, visitor: { ...VISITOR, address } })
      await log.settled()
    }
    for (const _ of Array(25)) await failFrom('192.0.2.1')
    expect(await recorded()).toEqual(Array(5).fill(['failedSignIn', 0]))
    await failFrom('192.0.2.2')
    expect((await recorded()).slice(5)).toEqual([['failedSignIn', 20]])
    for (let last = 3; last < 33; last++) await failFrom(`192.0.2.${last}`)
    expect((await recorded()).slice(6)).toEqual(Array(14).fill(['failedSignIn', 0]))
    nowMs += 5 * 60_000
    for (const last of [1, 99]) await failFrom(`192.0.2.${last}`)
    expect((await recorded()).slice(20)).toEqual([['failedSignIn', 16]])
    nowMs += HOUR_MS
    await failFrom('192.0.2.1')
    log.failed({ email: 'unknown@example.org' }, attempt)
    expect((await recorded()).slice(21)).toEqual([['failedSignIn', 1]])
  })

  test('sign-ins are removed from the audit log after a year', async () => {
    log.failed({ userId: place.ada.user.id }, attempt)
    log.succeeded(place.ada.user.id, attempt)
    expect(await recorded()).toHaveLength(2)
    nowMs += YEAR_MS + HOUR_MS
    log.succeeded(place.ada.user.id, attempt)
    expect(await recorded()).toEqual([['signIn', 0]])
  })
})
