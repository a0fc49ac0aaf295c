import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresBench, type PostgresBench } from '../testing/postgres-bench.ts'
import { holdInput, runScript } from '../testing/script.ts'
import { whileAlive } from './open-instance.ts'
import { Presence } from './presence.ts'

let bench: PostgresBench
let abandoned: (readonly [instanceId: string, holds: number])[]
let failures: unknown[]
let elapsedMs: number

beforeEach(async () => {
  bench = await createPostgresBench()
  abandoned = []
  failures = []
  elapsedMs = 0
  await runScript(bench, 'account A\nkey K A\ncredit A backed 100 first')
})

afterEach(() => bench.auditAndClose())

function createPresence(instanceId: string): Presence {
  return new Presence({
    db: bench.db,
    ledger: bench.ledger,
    instanceId,
    // One look is enough to watch, and the next to know.
    deadAfterMs: 0,
    elapsedMs: () => elapsedMs,
    onAbandoned: (abandonedId, holds) => abandoned.push([abandonedId, holds]),
    onFailure: (cause) => failures.push(cause),
  })
}

test('the holds of a dead instance become unresolved, those of a live one and its own stay open', async () => {
  const [watcher, live, dead] = ['I1', 'I2', 'I3'].map(createPresence)
  await runScript(bench, 'open R1 K 1 by I1\nopen R2 K 1 by I2\nopen R3 K 1 by I3')
  await live?.beat()
  await dead?.beat()
  for (let round = 0; round < 5; round++) {
    await watcher?.beat()
    await live?.beat()
  }
  const states = await Promise.all(['R1', 'R2', 'R3'].map((id) => bench.request(id)))
  expect(states.map((row) => row?.state)).toEqual(['open', 'open', 'unresolved'])
  expect(abandoned).toEqual([['I3', 1]])
  expect(failures).toEqual([])
})

test('holds of an instance that is not recorded, or has stopped, end too', async () => {
  const stopped = createPresence('I2')
  await stopped.beat()
  await stopped.close()
  await runScript(bench, 'open R1 K 1 by I2\nopen R2 K 1 by nobody')
  const watcher = createPresence('I1')
  await watcher.beat()
  await watcher.beat()
  expect(abandoned.toSorted()).toEqual([
    ['I2', 1],
    ['nobody', 1],
  ])
})

test('an instance that was wrongly taken for dead is recorded again with its next heartbeat', async () => {
  const [watcher, late] = ['I1', 'I2'].map(createPresence)
  await late?.beat()
  await watcher?.beat()
  await watcher?.beat()
  const read = () =>
    bench.db
      .selectFrom('instances')
      .select('stopped_at_ms')
      .where('id', '=', 'I2')
      .executeTakeFirst()
  expect(await read()).not.toEqual({ stopped_at_ms: null })
  await late?.beat()
  expect(await read()).toEqual({ stopped_at_ms: null })
})

test('an instance takes its time from the clock of the database', async () => {
  const databaseMs = async () => {
    const { rows } = await sql<{ now: string }>`select
      floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`.execute(bench.db)
    return Number(rows[0]?.now)
  }
  elapsedMs = 7_000_000.5
  const presence = createPresence('I1')
  const beforeMs = await databaseMs()
  await presence.beat()
  const beatMs = presence.nowMs()
  expect(beatMs).toBeGreaterThanOrEqual(beforeMs)
  expect(beatMs).toBeLessThanOrEqual(await databaseMs())
  elapsedMs += 1_234
  expect(presence.nowMs()).toBe(beatMs + 1_234)
})

test('two instances that abandon the same instance at the same time end each hold once', async () => {
  const watchers = ['I1', 'I2', 'I3'].map(createPresence)
  await runScript(bench, 'open R1 K 1 by I9\nopen R2 K 1 by I9')
  for (const watcher of watchers) await watcher.beat()
  await Promise.all(watchers.map((watcher) => watcher.beat()))
  expect(abandoned.filter(([instanceId]) => instanceId === 'I9').map(([, holds]) => holds)).toEqual(
    [2],
  )
})

test('an instance without a heartbeat for 20 seconds opens no hold, and leaves none open', async () => {
  const presence = createPresence('I1')
  expect(presence.isAlive()).toBe(false)
  await presence.beat()
  const open = (requestId: string, isAlive: () => boolean) =>
    whileAlive(bench.ledger, isAlive).openHold(holdInput(requestId, { instanceId: 'I1' }))
  elapsedMs = 19_999
  expect(await open('R1', () => presence.isAlive())).toMatchObject({ kind: 'opened' })
  // As when the process is frozen while its hold is being opened.
  const frozen = () => {
    const wasAlive = presence.isAlive()
    elapsedMs = 20_000
    return wasAlive
  }
  await expect(open('R2', frozen)).rejects.toThrow(/taken for dead/)
  await bench.ledger.sure()
  expect(await bench.request('R2')).toMatchObject({ state: 'released' })
  await expect(open('R3', () => presence.isAlive())).rejects.toThrow(/taken for dead/)
  expect(await bench.request('R3')).toBeUndefined()
})
