import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recordStoreGap } from '../ledger/store-gaps.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../vocabulary/webhook-event.ts'
import { eventsSoFar } from './testing/events.ts'
import { AWAY_AFTER_MS, change, makeWebhook, watcherOf } from './testing/watch.ts'
import type { Watcher } from './watcher.ts'

/** Webhooks that are made, enabled or given an event late: after a condition began. */

let bench: StoreBench
let watcher: Watcher

async function reportedEvents(webhookId?: string): Promise<readonly string[]> {
  return (await eventsSoFar(bench.db, webhookId)).map(([event]) => event).toSorted()
}

async function goBack(id: string): Promise<void> {
  const times = { foundAtMs: bench.nowMs, fromMs: bench.nowMs, untilMs: bench.nowMs }
  const counts = { commits: 1, requests: 0, chargeMicros: micros(0), commands: 0, lost: 0 }
  await recordStoreGap(bench.db, { id, instanceId: 'inst_1', ...times, ...counts })
}

async function endUnresolved(requestId: string): Promise<void> {
  await runScript(bench, `open ${requestId} key_1 90`)
  await bench.ledger.abandon(requestId)
}

async function listModels(): Promise<void> {
  await bench.db
    .insertInto('catalog_state')
    .values({ upstream: 'far', source: 'x', place: 0, refreshed_at_ms: bench.nowMs })
    .onConflict((conflict) =>
      conflict.column('upstream').doUpdateSet({ refreshed_at_ms: bench.nowMs }),
    )
    .execute()
}

/** A request that is unresolved for a minute, an upstream that goes away, and a database that goes back. */
async function beginAll(name: string): Promise<void> {
  await listModels()
  await watcher.look()
  await endUnresolved(`req_${name}`)
  await goBack(`gap_${name}`)
  bench.nowMs += AWAY_AFTER_MS + 1
}

const ALL = ['request.unresolved', 'store.went_back', 'upstream.away']

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    watcher = watcherOf(bench, ['far'])
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
    await runScript(bench, 'credit acct_1 backed 9000000 r1')
  })
  afterEach(() => bench.close())

  test('a webhook gets no report of a condition that began before the webhook was created', async () => {
    await beginAll('1')
    const { id: webhookId } = await makeWebhook(bench)
    bench.nowMs += 1
    await watcher.look()
    expect(await reportedEvents(webhookId)).toEqual([])
    await beginAll('2')
    await watcher.look()
    expect(await reportedEvents(webhookId)).toEqual(ALL)
  })

  test.each([
    ['enabled', { disabled: true }, { disabled: false }],
    ['given the events', { events: ['balance.low'] }, { events: WEBHOOK_EVENTS }],
  ] as const)(
    'a webhook gets no report of a condition that began before it was %s',
    async (_, before, after) => {
      const { id: webhookId } = await makeWebhook(bench)
      await change(bench, webhookId, before)
      await beginAll('1')
      await change(bench, webhookId, after)
      // As after a gateway was stopped for a time.
      bench.nowMs += 2 * HOUR_MS
      await watcher.look()
      expect(await reportedEvents(webhookId)).toEqual([])
      await watcher.look()
      const { db } = bench
      const marks = db.selectFrom('webhook_conditions').where('subject_id', 'like', '% subscribed')
      // Those of keys and accounts end once there is something to report.
      expect(
        await marks
          .select('event')
          .where('event', 'in', ALL as WebhookEvent[])
          .execute(),
      ).toEqual([])
      await beginAll('2')
      await watcher.look()
      expect(await reportedEvents(webhookId)).toEqual(ALL)
    },
  )

  test('a request that ended just before a webhook was created is reported after it is unresolved for a minute', async () => {
    await endUnresolved('req_1')
    bench.nowMs += MINUTE_MS / 2
    await makeWebhook(bench, ['request.unresolved'])
    bench.nowMs += MINUTE_MS / 2
    await watcher.look()
    expect(await reportedEvents()).toEqual(['request.unresolved'])
  })

  test('a webhook that is created or enabled just after the watcher read the time gets no report of earlier conditions', async () => {
    const { id: enabled } = await makeWebhook(bench)
    await change(bench, enabled, { disabled: true })
    await beginAll('1')
    bench.nowMs += 10
    await change(bench, enabled, { disabled: false })
    await makeWebhook(bench)
    const behind = { nowMs: () => bench.nowMs - 5 }
    await watcherOf({ ...bench, clock: behind }, ['far']).look()
    expect(await reportedEvents()).toEqual([])
  })

  test('a webhook that was created and enabled while the clock was far ahead gets reports after the clock is set back', async () => {
    const startMs = bench.nowMs
    bench.nowMs = startMs + 10_000 * HOUR_MS
    const { id: webhookId } = await makeWebhook(bench)
    await change(bench, webhookId, { disabled: true })
    await change(bench, webhookId, { disabled: false })
    bench.nowMs = startMs
    await beginAll('1')
    await runScript(bench, 'open req_z1 key_1 90\nsettle req_z1 final 90')
    await bench.setApiKey('key_1', { creditLimitMicros: micros(90) })
    await watcher.look()
    expect(await reportedEvents(webhookId)).toEqual(['key.limit_near', ...ALL])
  })

  test('a request that ended unresolved while the clock was far ahead is reported after the clock is set back', async () => {
    const startMs = bench.nowMs
    await makeWebhook(bench)
    bench.nowMs = startMs + 10_000 * HOUR_MS
    await endUnresolved('req_1')
    bench.nowMs = startMs + 1
    await watcher.look()
    await watcher.look()
    expect(await reportedEvents()).toEqual(['request.unresolved'])
  })

  test('after a clock that was far ahead is set back, an upstream without models is reported after the usual time', async () => {
    const startMs = bench.nowMs
    await makeWebhook(bench)
    bench.nowMs = startMs + 10_000 * HOUR_MS
    await listModels()
    await watcher.look()
    const backAtMs = startMs + HOUR_MS
    for (const ms of [0, AWAY_AFTER_MS]) {
      bench.nowMs = backAtMs + ms
      await watcher.look()
    }
    expect(await reportedEvents()).toEqual([])
    for (let pass = 0; pass < 2; pass += 1) {
      bench.nowMs += 1
      await watcher.look()
    }
    expect(await reportedEvents()).toEqual(['upstream.away'])
    await beginAll('1')
    await watcher.look()
    expect(await reportedEvents()).toEqual([
      'request.unresolved',
      'store.went_back',
      'upstream.away',
      'upstream.away',
    ])
  })
})
