import { describe, expect, test } from 'vitest'
import { listUnsettled } from '../ledger/activity/unsettled.ts'
import { sqliteLedger } from '../ledger/engines/create-ledger.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import {
  createReconcileWorld,
  describeSettlement,
  estimated,
  HOUR_MS,
  MINUTE_MS,
  type ReconcileProcess,
  SECOND_MS,
  START_MS,
  unresolved,
} from './testing/world.ts'

// Closing it audits the ledger.
const world = ofEach(createReconcileWorld)

function settledIds(...processes: readonly ReconcileProcess[]): string[] {
  return processes
    .flatMap(({ settled }) => settled)
    .map(({ requestId }) => requestId)
    .toSorted()
}

async function correctionEntries(): Promise<number> {
  const entries = await world.bench.entries('A')
  return entries.filter(({ kind }) => kind === 'correction').length
}

describe('an upstream that is down', () => {
  test('for an hour is asked about once a minute, and no request is lost', async () => {
    const process = await world.running()
    await world.simulator.refuseConnections()
    for (const request of await world.leaveMany(50)) process.reconciler.noticed(request)
    await world.passUntil(START_MS + 30 * MINUTE_MS, process)
    for (const request of await world.leaveMany(50, 50)) process.reconciler.noticed(request)
    await world.passUntil(START_MS + HOUR_MS, process)
    expect(process.settled).toEqual([])
    // Eight were on their way at first; then pauses of 1, 2, 4 … 32 seconds, then of a minute.
    expect(process.asked.length).toBeLessThan(8 + 6 + 60)
    expect(process.asked.length).toBeGreaterThan(60)
    expect(process.failures.every(({ of }) => of === 'upstream')).toBe(true)

    await world.simulator.acceptConnections()
    await world.passUntil(START_MS + HOUR_MS + 5 * MINUTE_MS, process)
    expect(new Set(settledIds(process)).size).toBe(100)
    expect(process.settled.length).toBe(100)
  })

  test('is given another hour when the time of a request is up', async () => {
    const process = await world.running()
    await world.simulator.refuseConnections()
    process.reconciler.noticed(await world.leave('unsure', unresolved('gen-1')))
    process.reconciler.noticed(await world.leave('charged', estimated('gen-2', 500)))
    await world.passUntil(START_MS + 25 * HOUR_MS - 1, process)
    expect(process.settled).toEqual([])
    await world.passUntil(START_MS + 25 * HOUR_MS + 5 * MINUTE_MS, process)
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'charged final 500 (givenUp, 0)',
      'unsure released 0 (givenUp, 0)',
    ])
  })

  test('is waited for before any hold is released, if the process starts after a long pause', async () => {
    world.ran('gen-1', 0.0002)
    await world.leave('unsure', unresolved('gen-1'))
    world.nowMs += 50 * HOUR_MS
    await world.simulator.refuseConnections()
    const process = await world.running()
    await world.passUntil(world.nowMs + 59 * MINUTE_MS, process)
    expect(process.settled).toEqual([])
    await world.simulator.acceptConnections()
    await world.passUntil(world.nowMs + 5 * MINUTE_MS, process)
    expect(process.settled.map(describeSettlement)).toEqual(['unsure final 210 (0.0002, 210)'])
  })

  test('does not delay the release of holds without an id', async () => {
    const process = await world.running()
    await world.simulator.refuseConnections()
    for (const request of await world.leaveMany(20)) process.reconciler.noticed(request)
    await world.leave('nameless', unresolved(null))
    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    expect(settledIds(process)).toEqual(['nameless'])
  })

  test('for one request only delays no other request', async () => {
    const process = await world.running()
    world.simulator.script({ path: '/generation', times: 3, status: 500 })
    for (const request of await world.leaveMany(20)) process.reconciler.noticed(request)
    await world.passUntil(START_MS + MINUTE_MS, process)
    expect(process.settled.length).toBe(20)
    expect(process.failures.length).toBe(3)
  })
})

describe('processes', () => {
  test('that reconcile one store settle each request exactly once', async () => {
    const otherLedger = sqliteLedger({
      file: world.bench.file,
      clock: { nowMs: () => world.nowMs },
    })
    const one = world.startProcess()
    const other = world.startProcess({ ledger: otherLedger })
    const requests = await world.leaveMany(200)
    for (const request of requests) {
      one.reconciler.noticed(request)
      other.reconciler.noticed(request)
    }
    world.nowMs += SECOND_MS
    await Promise.all([one.reconciler.runDue(), other.reconciler.runDue()])
    expect(settledIds(one, other)).toEqual(requests.map(({ requestId }) => requestId).toSorted())
    expect(await correctionEntries()).toBe(200)
    await otherLedger.close()
  })

  test('begin with the requests that earlier processes left', async () => {
    await world.leaveMany(30)
    world.nowMs += 10 * MINUTE_MS
    const process = await world.running()
    expect(process.settled.length).toBe(30)
  })

  test('stop while a look-up hangs, and leave its request to the next process', async () => {
    const first = world.startProcess()
    await world.leaveMany(20)
    await world.leave('unsure', unresolved('gen-0'))
    // Even a request whose time is up: an abandoned look-up does not count as silence of the upstream.
    world.nowMs += 100 * HOUR_MS
    world.simulator.script({ path: '/generation', times: 8, stall: 'beforeHeaders' })
    const due = first.reconciler.runDue()
    await world.simulator.waitFor(({ path }) => path === '/generation')
    await first.reconciler.stop()
    await due
    expect(first.settled).toEqual([])
    expect(first.failures).toEqual([])
    expect(first.asked.length).toBe(8)
    expect(first.timers.size).toBe(0)

    world.simulator.reset()
    for (let place = 0; place < 20; place++) world.ran(`gen-${place}`, 0.0002)
    const next = world.startProcess()
    await next.reconciler.runDue()
    expect(next.settled.length).toBe(21)
    expect(await world.show('unsure')).toBe('final 210')
  })

  test('that have stopped run no look-ups', async () => {
    const process = world.startProcess()
    process.reconciler.start()
    await process.reconciler.stop()
    for (const request of await world.leaveMany(1)) process.reconciler.noticed(request)
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    expect(process.asked).toEqual([])
    expect(process.timers.size).toBe(0)
  })
})

describe('many requests', () => {
  test('are looked up page by page, with a bounded number at the same time', async () => {
    const settings = { waitingRequestsMax: 50, pageRequests: 100 }
    const process = world.startProcess({ settings })
    for (let hundreds = 0; hundreds < 10; hundreds++) await world.leaveMany(100, hundreds * 100)
    for (let place = 0; place < 40; place++) await world.leave(`N${place}`, unresolved(null))
    world.nowMs += MINUTE_MS
    await process.reconciler.runDue()
    expect(process.settled.length).toBe(1_000)
    expect(new Set(settledIds(process)).size).toBe(1_000)
    expect(process.inFlightMost).toBe(8)
    // Ten full pages of provisional requests and the end of them, then the unresolved ones.
    expect(process.pageLimits).toEqual(Array.from({ length: 12 }, () => 100))
  })

  test('that end one after the other are looked up together, each at most a quarter second late', async () => {
    const process = await world.running()
    for (let place = 0; place < 20; place++) {
      world.nowMs = START_MS + 10 * place
      for (const request of await world.leaveMany(1, place)) process.reconciler.noticed(request)
    }
    await world.passUntil(START_MS + 10 * SECOND_MS, process)
    expect(process.settled.length).toBe(20)
    const moments = process.asked.map(({ atMs }) => atMs - START_MS)
    expect(moments).toEqual([1_000, ...Array.from({ length: 19 }, () => 1_250)])
  })

  test('that do not fit in memory are found in the store', async () => {
    const process = await world.running({ settings: { waitingRequestsMax: 10 } })
    for (const request of await world.leaveMany(300)) process.reconciler.noticed(request)
    expect(process.reconciler.waiting.size).toBe(10)
    await world.passUntil(START_MS + SECOND_MS, process)
    expect(process.settled.length).toBe(10)
    await world.passUntil(START_MS + 5 * MINUTE_MS, process)
    expect(process.settled.length).toBe(300)
  })

  test('that ended earlier do not delay one that has just ended', async () => {
    const process = world.startProcess({ settings: { lookupsInFlightMax: 4 } })
    await world.leaveMany(100)
    world.nowMs += HOUR_MS
    world.simulator.script({ path: '/generation', times: 'always', hold: 'beforeHeaders' })
    const due = process.reconciler.runDue()
    await world.simulator.gate().arrived(4)
    const [fresh] = await world.leaveMany(1, 100)
    if (fresh === undefined) throw new Error('no request was left')
    process.reconciler.noticed(fresh)
    world.nowMs += SECOND_MS
    world.simulator.gate().release(2)
    await world.simulator.gate().arrived(6)
    expect(process.asked.slice(4).map(({ generationId }) => generationId)).toContain('gen-100')
    world.simulator.gate().release()
    await due
    expect(process.settled.length).toBe(101)
  })

  test('that have just ended do not block earlier requests', async () => {
    const listed = Promise.withResolvers<void>()
    const process = world.startProcess({
      settings: { lookupsInFlightMax: 4 },
      async list(page) {
        const list = await listUnsettled(world.bench.store.reports, page)
        listed.resolve()
        return list
      },
    })
    await world.leaveMany(1)
    world.nowMs += HOUR_MS
    for (const request of await world.leaveMany(100, 1)) process.reconciler.noticed(request)
    world.nowMs += SECOND_MS
    world.simulator.script({ path: '/generation', times: 'always', hold: 'beforeHeaders' })
    const due = process.reconciler.runDue()
    await world.simulator.gate().arrived(4)
    await listed.promise
    expect(process.asked.length).toBe(4)
    world.simulator.gate().release(1)
    await world.simulator.gate().arrived(5)
    expect(process.asked.at(4)?.generationId).toBe('gen-0')
    world.simulator.gate().release()
    await due
    expect(process.settled.length).toBe(101)
  })
})

describe('a store', () => {
  test('that takes its first correction only after all have been sent does not stop the look-ups', async () => {
    const all = Promise.withResolvers<void>()
    let corrections = 0
    const process = world.startProcess({
      settings: { lookupsInFlightMax: 2 },
      ledger: {
        async correct(input) {
          if (++corrections === 20) all.resolve()
          await all.promise
          return world.bench.ledger.correct(input)
        },
      },
    })
    await world.leaveMany(20)
    world.nowMs += MINUTE_MS
    await process.reconciler.runDue()
    expect([process.settled.length, new Set(settledIds(process)).size]).toEqual([20, 20])
    expect([corrections, process.inFlightMost]).toEqual([20, 2])
  })

  test('that hangs on a correction delays no other request', async () => {
    const [asked, hung] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const process = await world.running({
      settings: { lookupsInFlightMax: 1 },
      ledger: {
        async correct(input) {
          asked.resolve()
          await hung.promise
          return world.bench.ledger.correct(input)
        },
      },
    })
    for (const place of [0, 1]) {
      world.nowMs = START_MS + place * 500
      for (const request of await world.leaveMany(1, place)) process.reconciler.noticed(request)
    }
    world.nowMs = START_MS + SECOND_MS
    const [timer] = process.timers
    timer?.run()
    await asked.promise
    expect([...process.timers].map(({ dueAtMs }) => dueAtMs)).toContain(START_MS + 1_500)
    hung.resolve()
  })

  test('that does not take a correction gets it again', async () => {
    let refusals = 3
    const process = await world.running({
      ledger: {
        correct(input) {
          if (refusals-- > 0) return Promise.reject(new StoreUnavailable('the disk is full'))
          return world.bench.ledger.correct(input)
        },
      },
    })
    for (const request of await world.leaveMany(2)) process.reconciler.noticed(request)
    await world.passUntil(START_MS + MINUTE_MS, process)
    expect(process.failures.map(({ of }) => of)).toEqual(['store', 'store', 'store'])
    expect(settledIds(process)).toEqual(['R0', 'R1'])
  })

  test('that cannot list requests is asked again, from the start', async () => {
    let refusals = 2
    const { reports } = world.bench.store
    const process = world.startProcess({
      settings: { pageRequests: 2 },
      list(page) {
        if (page.after !== null && refusals-- > 0) {
          return Promise.reject(new StoreUnavailable('the disk is gone'))
        }
        return listUnsettled(reports, page)
      },
    })
    await world.leaveMany(10)
    world.nowMs += MINUTE_MS
    process.reconciler.start()
    await process.reconciler.runDue()
    expect(process.settled.length).toBe(2)
    await world.passUntil(world.nowMs + 10 * SECOND_MS, process)
    expect(process.settled.length).toBe(10)
    expect(process.failures.map(({ requestId }) => requestId)).toEqual([null, null])
  })
})
