import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from '../src/cli/testing/command-line.ts'
import { openStore } from '../src/store/open-store.ts'
import { MADE_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { DAY_MS, HOUR_MS } from '../src/vocabulary/clock.ts'
import { firstIdOf, timeOfId } from '../src/vocabulary/ids.ts'
import type { UsageStep } from '../src/vocabulary/usage-step.ts'
import { startWorld, type World, type WorldInput } from './world.ts'

// Charts watch a day for late requests for up to 25 hours after its end: on the third day, what the test asked
// for can be pruned at each hour of the day.
const THREE_DAYS_MS = 3 * DAY_MS
const ADMIN = { authorization: 'Bearer admin-token-of-the-test' }

describe.each(MADE_DATABASES)('on $engine', ({ engine, create }) => {
  let database: TestDatabase
  let line: CommandLine
  let worlds: World[]
  let requestId: string

  beforeEach(async () => {
    database = await create()
    line = openCommandLine({ storeUrl: database.url })
    worlds = []
    const world = await open()
    const { apiKey } = await world.account()
    world.simulator.script({ path: '/chat/completions', status: 500 })
    const answer = await world.chat(apiKey)
    await answer.text()
    await world.close()
    requestId = await makeOlder(answer.headers.get('x-request-id') ?? '')
  })
  afterEach(async () => {
    await Promise.all(worlds.map((world) => world.close()))
    line.close()
    await database.remove()
  })

  async function open(input: WorldInput = {}): Promise<World> {
    const settings = {
      DATABASE_URL: database.url,
      ADMIN_API_TOKEN: 'admin-token-of-the-test',
      ...input.settings,
    }
    const world = await startWorld({ ...input, settings })
    worlds.push(world)
    return world
  }

  /** Makes a request, which was not charged, one of three days ago, and returns the id that it would have had. */
  async function makeOlder(id: string): Promise<string> {
    const store = await openStore({ url: database.url })
    const idAt = (timeMs: number) => firstIdOf({ prefix: 'req', timeMs })
    const madeAtMs = timeOfId(id) ?? 0
    const older = idAt(madeAtMs - THREE_DAYS_MS) + id.slice(idAt(madeAtMs).length)
    await store.db
      .updateTable('requests')
      .set({ id: older, settled_at_ms: madeAtMs - THREE_DAYS_MS })
      .where('id', '=', id)
      .execute()
    await store.close()
    return older
  }

  /** Starts a server, which begins to roll up and to prune at once, and stops it. */
  async function serve(
    settings: Readonly<Record<string, string>>,
    logged: string | null = null,
  ): Promise<World> {
    const world = await open({ settings })
    if (logged !== null) await world.logged(logged)
    const { status } = await fetch(world.url(`/v1/admin/requests/${requestId}`), { headers: ADMIN })
    expect([200, 404]).toContain(status)
    await world.close()
    return world
  }

  test('a server removes requests that were settled more than TOLLGATE_ACTIVITY_DAYS ago, and logs it', async () => {
    const { log } = await serve({ TOLLGATE_ACTIVITY_DAYS: '1' }, 'requests pruned from Activity')
    expect(log.filter((text) => text.includes('requests pruned from Activity'))).toHaveLength(1)
    expect(await line.run('request', 'show', requestId)).toMatchObject({
      exitCode: 3,
      notes: expect.stringMatching(
        /No request has the ID "req_\w+"\. Requests that were settled up to 20\d\d-\S+ have been pruned\./,
      ),
    })
    const world = await open()
    const path = `/v1/admin/requests/${requestId}`
    expect((await fetch(world.url(path), { headers: ADMIN })).status).toBe(404)
    expect(await world.audit()).toMatchObject({ ok: true, checked: { requests: 0, entries: 1 } })
  })

  test('a server keeps Activity for the configured time, and forever without a setting', async () => {
    await serve({ TOLLGATE_ACTIVITY_DAYS: '4' })
    await serve({})
    expect(await line.json('request', 'show', requestId)).toMatchObject({ state: 'released' })
  })

  if (engine === 'PostgreSQL') {
    test("a server whose clock is days ahead of the database's removes nothing and rolls nothing up too early", async () => {
      const world = await open({
        settings: { TOLLGATE_ACTIVITY_DAYS: '5' },
        clock: { nowMs: () => Date.now() + 10 * DAY_MS },
      })
      const { db } = world.gateway.store
      const latest = async (step: UsageStep): Promise<number> => {
        const marks = await db
          .selectFrom('usage_rolled')
          .select('number')
          .where('step', '=', step)
          .execute()
        return Math.max(...marks.map(({ number }) => number))
      }
      // Days are rolled up after all hours.
      await expect.poll(() => latest('day'), { interval: 10 }).toBeGreaterThan(0)
      expect(await latest('hour')).toBeLessThan(Date.now() / HOUR_MS)
      await world.close()
      expect(await line.json('request', 'show', requestId)).toMatchObject({ state: 'released' })
    })
  }
})
