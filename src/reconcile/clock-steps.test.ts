import { expect, test } from 'vitest'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { createReconcileWorld, HOUR_MS, MINUTE_MS, SECOND_MS } from './testing/world.ts'

// Closing it audits the ledger.
const world = ofEach(createReconcileWorld)

test('a clock that steps back by a day delays nothing for long', async () => {
  const process = await world.running()
  for (const request of await world.leaveMany(5)) process.reconciler.noticed(request)
  world.nowMs -= 24 * HOUR_MS
  for (const timer of [...process.timers]) timer.run()
  await process.reconciler.runDue()
  await world.passUntil(world.nowMs + 2 * SECOND_MS, process)
  expect(process.settled.length).toBe(5)
})

test('a clock that steps forward leaves no request waiting for an old timer', async () => {
  const process = await world.running()
  // It waits for the next scan, for five minutes that do not become shorter.
  const [ofOldTime] = process.timers
  world.nowMs += 10 * MINUTE_MS
  for (const request of await world.leaveMany(1)) process.reconciler.noticed(request)
  const timers = [...process.timers].filter((timer) => timer !== ofOldTime)
  expect(timers).toEqual([expect.objectContaining({ dueAtMs: world.nowMs })])
  timers[0]?.run()
  await world.passUntil(world.nowMs + 2 * SECOND_MS, process)
  expect(process.settled.length).toBe(1)
})

test.each(['is down', 'has no look-up'])(
  'a clock that steps back while the upstream %s does not prolong the wait',
  async (trouble) => {
    const process = await world.running()
    if (trouble === 'is down') await world.simulator.refuseConnections()
    else world.simulator.script({ path: '/generation', status: 404, errorBody: 'html', times: 2 })
    for (const request of await world.leaveMany(2)) process.reconciler.noticed(request)
    await world.passUntil(world.nowMs + 2 * SECOND_MS, process)
    expect(process.settled).toEqual([])
    if (trouble === 'is down') await world.simulator.acceptConnections()
    world.nowMs -= 2 * HOUR_MS
    await process.reconciler.runDue()
    await world.passUntil(world.nowMs + 2 * SECOND_MS, process)
    expect(process.settled.length).toBe(2)
  },
)
