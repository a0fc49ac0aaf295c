import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { firstIdOf, timeOfId } from '../../src/vocabulary/ids.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench, SENT_AT_ONCE } from './crash-bench.ts'

// Charts watch a day for late requests: on the third day its requests can be pruned at each hour.
const AGE_MS = 3 * DAY_MS
const CHARGE_MICROS = 1_050
// Two batches: one kill falls between them.
const REQUESTS = 12 * SENT_AT_ONCE

let bench: CrashBench

afterEach(() => bench.close())

test.each(MADE_DATABASES)(
  'kill -9 on $engine while old requests are rolled up and pruned: the next gateway continues, and every figure is exact',
  async ({ create }) => {
    bench = await openCrashBench({ createDatabase: create })
    bench.simulator.script({ costUsd: 0.001, lookupCostUsd: 0.001, times: 'always' })
    const first = await bench.serveHere()
    await bench.sendAll(first, REQUESTS)
    await bench.until((rows) => rows.every(({ state }) => state === 'final'))
    await first.close()
    await bench.look(makeOlder)
    await bench.audit()

    let left = REQUESTS
    for (let kills = 0; left > 0; kills++) {
      const gateway = await bench.serve({ TOLLGATE_ACTIVITY_DAYS: '1' })
      const before = left
      left = await bench.look(async (store) => {
        const isFirst = kills === 0
        // The first is killed while it rolls up, the next ones while they prune.
        const reached = () =>
          isFirst
            ? rolled(store)
            : countRequests(store).then((count) => count < before || count === 0)
        await expect.poll(reached, { interval: 2 }).toBe(true)
        expect(await gateway.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
        return countRequests(store)
      })
      await bench.audit()
    }
    const entries = await bench.entries()
    expect(entries.map(({ amountMicros }) => amountMicros)).toEqual([
      CREDIT_MICROS,
      ...Array(REQUESTS).fill(-CHARGE_MICROS),
    ])
    const sums = await bench.look(prunedSums)
    expect(sums).toEqual({
      requests: REQUESTS,
      charged: REQUESTS * CHARGE_MICROS,
      rolled: REQUESTS,
    })
  },
)

/** Makes every request one of three days ago, with the ID that it would have had. */
async function makeOlder({ db }: Store): Promise<void> {
  const idAt = (timeMs: number) => firstIdOf({ prefix: 'req', timeMs })
  for (const { id } of await db.selectFrom('requests').select('id').execute()) {
    const madeAtMs = timeOfId(id) ?? 0
    const older = idAt(madeAtMs - AGE_MS) + id.slice(idAt(madeAtMs).length)
    const atMs = madeAtMs - AGE_MS
    const times = { opened_at_ms: atMs, ended_at_ms: atMs, settled_at_ms: atMs }
    await db
      .updateTable('requests')
      .set({ id: older, ...times })
      .where('id', '=', id)
      .execute()
    const entries = db.updateTable('entries').where('request_id', '=', id)
    await entries.set({ request_id: older, created_at_ms: atMs }).execute()
  }
  await db.deleteFrom('usage_rolled').execute()
}

async function countRequests({ db }: Store): Promise<number> {
  const query = db.selectFrom('all_requests').select(({ fn }) => fn.countAll().as('count'))
  return Number((await query.executeTakeFirstOrThrow()).count)
}

async function rolled({ db }: Store): Promise<boolean> {
  return (await db.selectFrom('usage_rolled').select('number').executeTakeFirst()) !== undefined
}

async function prunedSums({ db }: Store) {
  const pruned = await db.selectFrom('pruned_requests').selectAll().execute()
  const days = db.selectFrom('usage_days').select('requests')
  const ofKeys = await days.where('api_key_id', '!=', '').execute()
  const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)
  return {
    requests: sumOf(pruned.map(({ requests }) => Number(requests))),
    charged: sumOf(pruned.map((row) => Number(row.backed_charge_micros))),
    rolled: sumOf(ofKeys.map(({ requests }) => Number(requests))),
  }
}
