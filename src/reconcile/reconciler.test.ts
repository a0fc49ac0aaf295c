import { beforeEach, describe, expect, test } from 'vitest'
import { listUnsettled } from '../ledger/activity/unsettled.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import {
  createReconcileWorld,
  describeSettlement,
  estimated,
  HOUR_MS,
  MINUTE_MS,
  provisional,
  type ReconcileProcess,
  SECOND_MS,
  START_MS,
  unresolved,
} from './testing/world.ts'

// Closing it audits the ledger.
const world = ofEach(createReconcileWorld)

/** Ages, in seconds, at which a request that ended at the start was looked up. */
function agesAsked({ asked }: ReconcileProcess, generationId: string): number[] {
  return asked
    .filter((ask) => ask.generationId === generationId)
    .map(({ atMs }) => (atMs - START_MS) / SECOND_MS)
}

async function corrections(): Promise<readonly string[]> {
  const entries = await world.bench.entries('A')
  return entries
    .filter(({ requestId }) => requestId !== null)
    .map(({ requestId, kind, amountMicros }) => `${requestId} ${kind} ${amountMicros}`)
}

describe('a request that has just ended', () => {
  test('is looked up within two seconds, and not before the first', async () => {
    const process = await world.running()
    world.ran('gen-1', 0.0001)
    process.reconciler.noticed(await world.leave('R1', provisional('gen-1', '0.0001')))
    await world.passUntil(START_MS + SECOND_MS - 1, process)
    expect(process.asked).toEqual([])
    await world.passUntil(START_MS + 2 * SECOND_MS, process)
    expect(process.settled.map(describeSettlement)).toEqual(['R1 final 105 (0.0001, 0)'])
    expect(await world.show('R1')).toBe('final 105')
  })

  test('is looked up again after growing waits until the provider knows it', async () => {
    const process = await world.running()
    world.ran('gen-1', 0.0002)
    world.simulator.generations.answerUnknownFirst(3)
    process.reconciler.noticed(await world.leave('R1', estimated('gen-1', 500)))
    await world.passUntil(START_MS + MINUTE_MS, process)
    expect(agesAsked(process, 'gen-1')).toEqual([1, 3, 7, 15])
    expect(process.settled.map(describeSettlement)).toEqual(['R1 final 210 (0.0002, -290)'])
  })

  test('is found in the store when it was not noticed', async () => {
    const process = await world.running()
    world.ran('gen-1', 0.0002)
    await world.leave('R1', estimated('gen-1', 500))
    await world.passUntil(START_MS + 5 * MINUTE_MS, process)
    expect(await world.show('R1')).toBe('final 210')
  })

  test('is found at once by a call of `scanNow`', async () => {
    const process = await world.running()
    world.ran('gen-1', 0.0001)
    await world.leave('R1', unresolved('gen-1'))
    process.reconciler.scanNow()
    expect([...process.timers].map(({ dueAtMs }) => dueAtMs)).toEqual([START_MS + 250])
    await world.passUntil(START_MS + 3 * SECOND_MS, process)
    expect(await world.show('R1')).toBe('final 105')
  })

  test('older requests are not asked about more often, however often `scanNow` is called', async () => {
    const process = world.startProcess()
    await world.leave('old', unresolved('gen-old'))
    world.nowMs += HOUR_MS
    process.reconciler.start()
    await process.reconciler.runDue()
    expect(process.asked.length).toBe(1)
    for (let second = 1; second < 10; second++) {
      process.reconciler.scanNow()
      await world.passUntil(START_MS + HOUR_MS + second * SECOND_MS, process)
    }
    expect(process.asked.length).toBe(1)
    await world.passUntil(START_MS + HOUR_MS + 5 * MINUTE_MS, process)
    expect(process.asked.length).toBe(2)
  })

  test('is found at once by a call of `scanNow` during a scan', async () => {
    const goOn = Promise.withResolvers<void>()
    let scans = 0
    const process = world.startProcess({
      async list(page) {
        if (++scans > 1) return listUnsettled(world.bench.store.reports, page)
        await goOn.promise
        return { requests: [], next: null }
      },
    })
    process.reconciler.start()
    expect(scans).toBe(1)
    world.ran('gen-1', 0.0001)
    await world.leave('R1', unresolved('gen-1'))
    process.reconciler.scanNow()
    goOn.resolve()
    await world.passUntil(START_MS + 3 * SECOND_MS, process)
    expect(await world.show('R1')).toBe('final 105')
  })

  test('is looked up once, however often it is noticed', async () => {
    const process = world.startProcess()
    world.ran('gen-1', 0.0002)
    const request = await world.leave('R1', estimated('gen-1', 500))
    process.reconciler.noticed(request)
    process.reconciler.noticed(request)
    world.nowMs += SECOND_MS
    const done = process.reconciler.runDue()
    process.reconciler.noticed(request)
    await done
    expect(process.asked.length).toBe(1)
  })
})

describe('the cost that the provider reports', () => {
  test('is posted as the exact difference to the charge', async () => {
    const process = world.startProcess()
    world.ran('gen-more', 0.000_123_457)
    world.ran('gen-less', 0.000_000_3)
    world.ran('gen-same', 0.0001)
    world.ran('gen-over', 0.01)
    world.ran('gen-free', 0)
    await world.leave('more', provisional('gen-more', '0.0001'))
    await world.leave('less', estimated('gen-less', 999))
    await world.leave('same', provisional('gen-same', '0.0001'))
    await world.leave('over', unresolved('gen-over'))
    await world.leave('free', estimated('gen-free', 7))
    const before = await corrections()
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'free final 0 (0, -7)',
      'less final 0 (0.0000003, -999)',
      'more final 130 (0.000123457, 25)',
      'over final 10500 (0.01, 10500)',
      'same final 105 (0.0001, 0)',
    ])
    const after = await corrections()
    expect(after.slice(before.length).toSorted()).toEqual([
      'free correction 7',
      'less correction 999',
      'more correction -25',
      'over charge -10500',
    ])
    const account = await world.bench.account('A')
    expect([account.backedBalanceMicros, account.backedHeldMicros]).toEqual([
      100_000_000 - 130 - 105 - 10_500,
      0,
    ])
  })

  test('is not charged if it is not a real amount', async () => {
    const process = world.startProcess()
    world.simulator.script({
      path: '/generation',
      times: 'always',
      rawBody: '{"data":{"id":"gen-1","total_cost":1e30}}',
    })
    await world.leave('R1', estimated('gen-1', 500))
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    expect(await world.show('R1')).toBe('provisional 500')
  })

  test('settles only requests that no admin has settled: the second settle changes nothing', async () => {
    const process = world.startProcess()
    world.ran('gen-1', 0.0002)
    process.reconciler.noticed(await world.leave('R1', estimated('gen-1', 500)))
    await world.bench.ledger.correct({ requestId: 'R1', correction: { kind: 'givenUp' } })
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    expect(await world.show('R1')).toBe('final 500')
    expect(process.settled).toEqual([])
  })
})

describe('a request that the provider never knows', () => {
  test('is settled at its current charge after exactly a day', async () => {
    const process = await world.running()
    for (const [requestId, resolution] of [
      ['charged', estimated('gen-1', 500)],
      ['unsure', unresolved('gen-2')],
      ['nameless', unresolved(null)],
    ] as const) {
      process.reconciler.noticed(await world.leave(requestId, resolution))
    }
    await world.passUntil(START_MS + 24 * HOUR_MS - 1, process)
    expect(process.settled).toEqual([])
    expect((await world.bench.account('A')).backedHeldMicros).toBe(500 + 1_000 + 1_000)

    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'charged final 500 (givenUp, 0)',
      'nameless released 0 (givenUp, 0)',
      'unsure released 0 (givenUp, 0)',
    ])
    expect((await world.bench.account('A')).backedHeldMicros).toBe(0)

    const ages = agesAsked(process, 'gen-1')
    const waits = ages.slice(1).map((age, place) => age - (ages[place] ?? 0))
    expect(waits.slice(0, 8)).toEqual([2, 4, 8, 16, 32, 64, 128, 256])
    expect(Math.max(...waits)).toBe(300)
    expect(ages.at(-1)).toBe(24 * 60 * 60)
  })

  test('is looked up once more if its time ran out while no process could look it up', async () => {
    await world.leave('known', unresolved('gen-1'))
    await world.leave('unknown', unresolved('gen-2'))
    await world.leave('nameless', unresolved(null))
    world.ran('gen-1', 0.0002)
    world.nowMs += 25 * HOUR_MS
    const process = await world.running()
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'known final 210 (0.0002, 210)',
      'nameless released 0 (givenUp, 0)',
      'unknown released 0 (givenUp, 0)',
    ])
  })

  test('is settled after the times in the settings', async () => {
    const settings = { settleAfterMs: 5 * SECOND_MS }
    const process = await world.running({ settings })
    process.reconciler.noticed(await world.leave('charged', estimated('gen-1', 500)))
    process.reconciler.noticed(await world.leave('nameless', unresolved(null)))
    await world.passUntil(START_MS + 5 * SECOND_MS - 1, process)
    expect(process.settled).toEqual([])
    await world.passUntil(START_MS + 5 * SECOND_MS, process)
    expect(process.settled.length).toBe(2)
  })
})

describe('at an upstream without look-ups', () => {
  beforeEach(() => {
    world.simulator.script({ path: '/generation', times: 'always', status: 404, errorBody: 'html' })
  })

  test('a provisional charge becomes final after an hour, and an unresolved hold is released after a day', async () => {
    const process = await world.running()
    process.reconciler.noticed(await world.leave('charged', estimated('gen-1', 500)))
    process.reconciler.noticed(await world.leave('unsure', unresolved('gen-2')))
    await world.passUntil(START_MS + HOUR_MS - 1, process)
    expect(process.settled).toEqual([])
    await world.passUntil(START_MS + HOUR_MS, process)
    expect(process.settled.map(describeSettlement)).toEqual(['charged final 500 (givenUp, 0)'])
    await world.passUntil(START_MS + 24 * HOUR_MS - 1, process)
    expect(process.settled.length).toBe(1)
    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    expect(await world.show('unsure')).toBe('released 0')
  })

  test('few look-ups are sent, however many requests wait', async () => {
    const process = world.startProcess()
    for (let place = 0; place < 100; place++) {
      await world.leave(`R${place}`, estimated(`gen-${place}`, 500))
    }
    process.reconciler.start()
    await world.passUntil(START_MS + HOUR_MS - 1, process)
    // As many as may be on their way together, once every five minutes: is there one by now?
    expect(process.asked.length).toBeGreaterThanOrEqual(12)
    expect(process.asked.length).toBeLessThanOrEqual(12 * 8)
  })

  test('after a successful look-up, an error page does not count as a missing look-up', async () => {
    const process = world.startProcess()
    world.simulator.reset()
    world.ran('gen-0', 0.0001)
    await world.leave('R0', estimated('gen-0', 500))
    await world.leave('R1', estimated('gen-1', 500))
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    world.simulator.script({ path: '/generation', times: 'always', status: 404, errorBody: 'html' })
    process.reconciler.start()
    await world.passUntil(START_MS + 23 * HOUR_MS, process)
    expect(await world.show('R1')).toBe('provisional 500')
  })

  test('look-ups that become available are used for all waiting requests', async () => {
    const process = await world.running()
    for (let place = 0; place < 20; place++) {
      world.ran(`gen-${place}`, 0.0001)
      process.reconciler.noticed(await world.leave(`R${place}`, estimated(`gen-${place}`, 500)))
    }
    await world.passUntil(START_MS + 20 * MINUTE_MS, process)
    expect(process.settled).toEqual([])
    world.simulator.reset()
    for (let place = 0; place < 20; place++) world.ran(`gen-${place}`, 0.0001)
    await world.passUntil(START_MS + 35 * MINUTE_MS, process)
    expect(process.settled.length).toBe(20)
  })
})
