import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { recordStoreGap } from '../ledger/store-gaps.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { WEBHOOK_EVENTS, type WebhookEvent } from '../vocabulary/webhook-event.ts'
import { changeWebhook, createWebhook, getWebhook } from './registry.ts'
import { eventsSoFar } from './testing/events.ts'
import { noteConditions, Watcher } from './watcher.ts'

/** Webhooks that are made, enabled or given an event late: after a condition began. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const AWAY_AFTER_MS = 15 * MINUTE_MS

let bench: StoreBench
let nowMs: number
let watcher: Watcher

const clock = { nowMs: () => nowMs }
const ids = createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) })
const onFailure = (cause: unknown) => {
  throw cause
}

function at(ms: number): void {
  nowMs = ms
  bench.setNowMs(ms)
}

/** By position: how far its clock is behind. */
function startWatcher(behindMs = 0): Watcher {
  const behind = { nowMs: () => nowMs - behindMs }
  const parts = { db: bench.store.db, ids, clock: behind, onPass: null, onFailure }
  return new Watcher({ ...parts, upstreams: ['far'], awayAfterMs: AWAY_AFTER_MS })
}

/** As the operation that creates a webhook. */
async function makeWebhook(events: readonly WebhookEvent[] = WEBHOOK_EVENTS): Promise<string> {
  const parts = { db: bench.store.db, ids, clock }
  await noteConditions(parts, events, null)
  const made = { url: 'https://receiver.example/', events, by: null }
  return (await createWebhook(parts, made)).id
}

/** As the operation that changes a webhook. */
async function change(
  webhookId: string,
  changed: { readonly events?: readonly WebhookEvent[]; readonly disabled?: boolean },
): Promise<void> {
  const parts = { db: bench.store.db, ids, clock }
  const begins = changed.events ?? (changed.disabled ? [] : WEBHOOK_EVENTS)
  await noteConditions(parts, begins, await getWebhook(parts.db, webhookId))
  await changeWebhook(parts, { webhookId, ...changed, by: null })
}

async function reportedEvents(webhookId?: string): Promise<readonly string[]> {
  return (await eventsSoFar(bench.store.db, webhookId)).map(([event]) => event).toSorted()
}

async function goBack(id: string): Promise<void> {
  const times = { foundAtMs: nowMs, fromMs: nowMs, untilMs: nowMs }
  const counts = { commits: 1, requests: 0, chargeMicros: micros(0), commands: 0, lost: 0 }
  await recordStoreGap(bench.store.db, { id, instanceId: 'inst_1', ...times, ...counts })
}

async function endUnresolved(requestId: string): Promise<void> {
  await runScript(bench, `open ${requestId} key_1 90`)
  await bench.ledger.abandon(requestId)
}

async function listModels(): Promise<void> {
  await bench.store.db
    .insertInto('catalog_state')
    .values({ upstream: 'far', source: 'x', place: 0, refreshed_at_ms: nowMs })
    .onConflict((conflict) => conflict.column('upstream').doUpdateSet({ refreshed_at_ms: nowMs }))
    .execute()
}

/** A request that is unresolved for a minute, an upstream that goes away, and a database that goes back. */
async function beginAll(name: string): Promise<void> {
  await listModels()
  await watcher.look()
  await endUnresolved(`req_${name}`)
  await goBack(`gap_${name}`)
  at(nowMs + AWAY_AFTER_MS + 1)
}

const ALL = ['request.unresolved', 'store.went_back', 'upstream.away']

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open({ limits: LEDGER_LIMITS_DEFAULT })
    at(Date.parse('2027-01-01'))
    watcher = startWatcher()
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
    await runScript(bench, 'credit acct_1 backed 9000000 r1')
  })
  afterEach(() => bench.close())

  test('a webhook gets no report of a condition that began before the webhook was created', async () => {
    await beginAll('1')
    const webhookId = await makeWebhook()
    at(nowMs + 1)
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
      const webhookId = await makeWebhook()
      await change(webhookId, before)
      await beginAll('1')
      await change(webhookId, after)
      // As after a gateway was stopped for a time.
      at(nowMs + 2 * HOUR_MS)
      await watcher.look()
      expect(await reportedEvents(webhookId)).toEqual([])
      await watcher.look()
      const { db } = bench.store
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
    at(nowMs + MINUTE_MS / 2)
    await makeWebhook(['request.unresolved'])
    at(nowMs + MINUTE_MS / 2)
    await watcher.look()
    expect(await reportedEvents()).toEqual(['request.unresolved'])
  })

  test('a webhook that is created or enabled just after the watcher read the time gets no report of earlier conditions', async () => {
    const enabled = await makeWebhook()
    await change(enabled, { disabled: true })
    await beginAll('1')
    at(nowMs + 10)
    await change(enabled, { disabled: false })
    await makeWebhook()
    await startWatcher(5).look()
    expect(await reportedEvents()).toEqual([])
  })

  test('a webhook that was created and enabled while the clock was far ahead gets reports after the clock is set back', async () => {
    const startMs = nowMs
    at(startMs + 10_000 * HOUR_MS)
    const webhookId = await makeWebhook()
    await change(webhookId, { disabled: true })
    await change(webhookId, { disabled: false })
    at(startMs)
    await beginAll('1')
    await runScript(bench, 'open req_z1 key_1 90\nsettle req_z1 final 90')
    await bench.setApiKey('key_1', { creditLimitMicros: micros(90) })
    await watcher.look()
    expect(await reportedEvents(webhookId)).toEqual(['key.limit_near', ...ALL])
  })
  test('a request that ended unresolved while the clock was far ahead is reported after the clock is set back', async () => {
    const startMs = nowMs
    await makeWebhook()
    at(startMs + 10_000 * HOUR_MS)
    await endUnresolved('req_1')
    at(startMs + 1)
    await watcher.look()
    await watcher.look()
    expect(await reportedEvents()).toEqual(['request.unresolved'])
  })

  test('after a clock that was far ahead is set back, an upstream without models is reported after the usual time', async () => {
    const startMs = nowMs
    await makeWebhook()
    at(startMs + 10_000 * HOUR_MS)
    await listModels()
    await watcher.look()
    const backAtMs = startMs + HOUR_MS
    for (const ms of [0, AWAY_AFTER_MS]) {
      at(backAtMs + ms)
      await watcher.look()
    }
    expect(await reportedEvents()).toEqual([])
    for (let pass = 0; pass < 2; pass += 1) {
      at(nowMs + 1)
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
