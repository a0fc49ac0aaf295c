import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from '../src/cli/testing/command-line.ts'
import { TEST_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { startWorld, type World, type WorldInput } from './world.ts'

// Charts watch a day for late requests for up to 25 hours after its end: on the third day, what the test asked
// for can be pruned at each hour of the day.
const THREE_DAYS_MS = 3 * 86_400_000
const ADMIN = { authorization: 'Bearer admin' }

describe.each(TEST_DATABASES)('on $engine', ({ create }) => {
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
    requestId = answer.headers.get('x-request-id') ?? ''
    await world.close()
  })
  afterEach(async () => {
    await Promise.all(worlds.map((world) => world.close()))
    line.close()
    await database.remove()
  })

  async function open(input: WorldInput = {}): Promise<World> {
    const settings = { DATABASE_URL: database.url, ADMIN_API_TOKEN: 'admin', ...input.settings }
    const world = await startWorld({ ...input, settings })
    worlds.push(world)
    return world
  }

  const inThreeDays = { nowMs: () => Date.now() + THREE_DAYS_MS }

  /** Starts a server in three days, which begins to roll up and to prune at once, and stops it. */
  async function serveInThreeDays(
    settings: Readonly<Record<string, string>>,
    logged: string | null = null,
  ): Promise<World> {
    const world = await open({ settings, clock: inThreeDays })
    if (logged !== null) await world.logged(logged)
    const { status } = await fetch(world.url(`/v1/admin/requests/${requestId}`), { headers: ADMIN })
    expect([200, 404]).toContain(status)
    await world.close()
    return world
  }

  test('a server removes what was settled longer ago than TOLLGATE_ACTIVITY_DAYS, and says so', async () => {
    const { log } = await serveInThreeDays(
      { TOLLGATE_ACTIVITY_DAYS: '1' },
      'requests pruned from Activity',
    )
    expect(log.filter((text) => text.includes('requests pruned from Activity'))).toHaveLength(1)
    expect(await line.run('request', 'show', requestId)).toMatchObject({
      exitCode: 3,
      notes: expect.stringMatching(
        /No request that opened a hold has the ID "req_\w+"\. Requests that were settled up to 20\d\d-\S+ have been pruned\./,
      ),
    })
    const world = await open()
    const path = `/v1/admin/requests/${requestId}`
    expect((await fetch(world.url(path), { headers: ADMIN })).status).toBe(404)
    expect(await world.audit()).toMatchObject({ ok: true, checked: { requests: 0, entries: 1 } })
  })

  test('a server keeps it within that time, and for ever where nothing is set', async () => {
    await serveInThreeDays({ TOLLGATE_ACTIVITY_DAYS: '4' })
    await serveInThreeDays({})
    expect(await line.json('request', 'show', requestId)).toMatchObject({ state: 'released' })
  })
})
