import { expect, test } from 'vitest'
import { USERS } from '../store/people-tables.ts'
import { createMadeSqliteFile } from '../store/testing/test-databases.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { completeSignIn, Sessions } from './sessions.ts'
import { Place, VISITOR } from './testing/place.ts'

test("a user has at most 100 sessions: one more sign-in ends that user's oldest session", async () => {
  const place = await Place.on(createMadeSqliteFile)
  let nowMs = Date.now()
  // Each ID sorts after the one before.
  const clock = { nowMs: () => ++nowMs }
  const ids = createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) })
  const sessions = new Sessions({ db: place.store.db, clock, ids })
  const { user } = place.ada
  const other = 'user_0'
  const person = { id: other, name: 'Eve', email: 'eve@example.org', createdAtMs: 0 }
  const row = USERS.record({ ...USERS.start, ...person })
  await place.store.db.insertInto('users').values(row).execute()
  const eve = await sessions.start(other, VISITOR)
  const started: string[] = []
  for (let each = 0; each < 120; each++) {
    started.push((await sessions.start(user.id, VISITOR)).sessionToken)
  }
  const found = await Promise.all(started.map((token) => sessions.find(token)))
  expect(found.map((each) => each !== null)).toEqual([
    ...Array(20).fill(false),
    ...Array(100).fill(true),
  ])
  expect(await place.sessionIds()).not.toContain(place.ada.sessionId)
  expect((await sessions.find(eve.sessionToken))?.user.id).toBe(other)
})

test('sign-ins that wait for a second factor do not end sessions that have passed it', async () => {
  const place = await Place.on(createMadeSqliteFile)
  const { user, sessionId } = place.ada
  const { db } = place.store
  await db.updateTable('sessions').set({ factor_passed_at_ms: 1 }).execute()
  for (let each = 0; each < 101; each++) await place.people.sessions.start(user.id, VISITOR)
  const ids = await place.sessionIds()
  expect(ids).toContain(sessionId)
  expect(ids).toHaveLength(101)
  const [newest = ''] = ids.toSorted().toReversed()
  expect(await completeSignIn(db, { sessionId: newest, nowMs: 2 })).not.toBeNull()
  expect(await place.sessionIds()).toContain(sessionId)
})

test('a change that was made is not refused if the time of its password cannot be stored', async () => {
  const database = await createMadeSqliteFile()
  const place = await Place.open(database.url)
  const { sessions } = place.people
  await place.close()
  await expect(sessions.keepRecent(place.ada.sessionId)).resolves.toBeUndefined()
  await database.remove()
})
