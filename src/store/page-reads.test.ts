import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from './store.ts'
import { MADE_DATABASES, storeOfTest } from './testing/test-databases.ts'

// A statement that ends after days.
const ENDLESS = sql`
  with recursive numbers(number) as (select 1 union all select (number + 1) % 1000000 from numbers)
  select max(number) from numbers`
const OWNER = { owner: 'first' }
// On SQLite a process must start within it.
const searchTimeoutMsOn = (engine: string) => (engine === 'SQLite' ? 4_000 : 1_000)

describe.each(MADE_DATABASES)('pages on $engine', ({ engine, create }) => {
  let store: Store
  let stillHeld: (() => void)[]

  beforeEach(async () => {
    stillHeld = []
    store = await storeOfTest(create, { searchTimeoutMs: searchTimeoutMsOn(engine) })
  })
  afterEach(() => {
    for (const giveBack of stillHeld) giveBack()
  })

  /** Reads one row for an owner. */
  const readFor = (owner: string): Promise<unknown> =>
    store.pages({ owner }).selectFrom('settings').selectAll().limit(1).execute()

  /** Takes every connection of the pages. The returned function gives one of them back; the others stay taken. */
  async function takeAll(): Promise<() => void> {
    const freed = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
    const count = store.location.kind === 'sqlite' ? 1 : 3
    for (let number = 0; number < count; number++) {
      const taken = Promise.withResolvers<void>()
      void store
        .pages({ owner: `blocker ${number}` })
        .connection()
        .execute(async () => {
          taken.resolve()
          await freed[number]?.promise
        })
      await taken.promise
    }
    stillHeld = freed.slice(1).map(({ resolve }) => resolve)
    return () => freed[0]?.resolve()
  }

  /** Searches until it is answered: on a busy machine a process may take longer to start than a search may take. */
  async function nextSearch(): Promise<readonly unknown[]> {
    for (;;) {
      try {
        return (await sql`select 1 as one`.execute(store.searches(OWNER))).rows
      } catch (error) {
        expect(error).toMatchObject({ name: 'ReadRefused', why: 'tooLong' })
      }
    }
  }

  test('are read in turns: a reader of many delays only itself', async () => {
    const free = await takeAll()
    const order: string[] = []
    const reads = ['greedy', 'greedy', 'greedy', 'greedy', 'modest'].map((owner) =>
      readFor(owner).then(() => order.push(owner)),
    )
    await new Promise(setImmediate)
    free()
    await Promise.all(reads)
    expect(order).toEqual(['greedy', 'modest', 'greedy', 'greedy', 'greedy'])
  })

  test('are read by one statement of an owner at a time', async () => {
    const held = Promise.withResolvers<void>()
    const taken = Promise.withResolvers<void>()
    const first = store
      .pages(OWNER)
      .connection()
      .execute(async () => {
        taken.resolve()
        await held.promise
      })
    await taken.promise
    let isRead = false
    const second = readFor('first').then(() => {
      isRead = true
    })
    // If others have connections left, they read while the owner waits.
    const readsOfOthers = store.location.kind === 'sqlite' ? 0 : 5
    for (let read = 0; read < readsOfOthers; read++) await readFor('other')
    expect(isRead).toBe(false)
    held.resolve()
    await Promise.all([first, second])
    expect(isRead).toBe(true)
  })

  test('that no caller waits for any longer are not read', async () => {
    const free = await takeAll()
    const leaving = new AbortController()
    const left = store
      .pages({ owner: 'left', signal: leaving.signal })
      .selectFrom('settings')
      .selectAll()
      .execute()
    leaving.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    free()
    await readFor('left')
  })

  test('are read while a search takes long; the search is ended, and the next one is answered', async () => {
    const searching = ENDLESS.execute(store.searches(OWNER))
    const ended = expect(searching).rejects.toMatchObject({ name: 'ReadRefused', why: 'tooLong' })
    await readFor('first')
    await ended
    expect(await nextSearch()).toEqual([{ one: 1 }])
  })

  test('are searched again after a transaction was ended, and the store closes', async () => {
    const searching = store
      .searches(OWNER)
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((view) => ENDLESS.execute(view))
    await expect(searching).rejects.toMatchObject({ name: 'ReadRefused', why: 'tooLong' })
    expect(await nextSearch()).toEqual([{ one: 1 }])
  })

  test('of a search take no writes', async () => {
    const writing = store.searches(OWNER).deleteFrom('settings').execute()
    await expect(writing).rejects.toThrow(/read-?only/)
  })
})
