import type { Kysely, KyselyPlugin } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import type { Tables } from '../store/schema.ts'
import { WEBHOOK_DELIVERIES } from '../store/webhook-tables.ts'
import { HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { raiseConditions } from './conditions.ts'
import { reportedMark } from './subjects.ts'
import { eventsSoFar } from './testing/events.ts'
import { change, makeWebhook as createWebhook, watcherOf } from './testing/watch.ts'

const EVENT = 'key.limit_near'

let bench: StoreBench

const look = (db: Kysely<Tables> = bench.db) =>
  watcherOf({ db, ids: bench.ids, clock: bench.clock }).look()

/** Time moves on, so that conditions begin after the webhook. */
async function makeWebhook(): Promise<string> {
  const { id } = await createWebhook(bench, [EVENT])
  bench.nowMs += 1
  return id
}

/** The limits that a webhook reported, oldest first. */
async function reportedLimits(webhookId?: string): Promise<readonly number[]> {
  const events = await eventsSoFar(bench.db, webhookId)
  return events.map(([, { credit_limit }]) => credit_limit)
}

async function setLimit(limitMicros: number): Promise<void> {
  await bench.setApiKey('key_1', { creditLimitMicros: micros(limitMicros) })
  await look()
}

/** Calls `then` once, after the next read of a mark and before its reader acts. */
function afterReadOfMark(then: () => Promise<void>): Kysely<Tables> {
  let isDone = false
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const hasMark = result.rows.some(
        (row) => String(row['subject_id']).endsWith(' reported') && 'since_ms' in row,
      )
      if (hasMark && !isDone) {
        isDone = true
        await then()
      }
      return result
    },
  }
  return bench.db.withPlugin(plugin)
}

async function setNothing(): Promise<void> {
  await runScript(bench, 'set key_1 allowance none')
  await bench.setApiKey('key_1', { creditLimitMicros: null })
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
    await runScript(
      bench,
      'credit acct_1 backed 9000000 r1\nopen req_z1 key_1 90\nsettle req_z1 final 90',
    )
  })
  afterEach(() => bench.close())

  test('a key whose limits keep changing is reported at most once an hour for its limit, and once an hour for its allowance', async () => {
    const startMs = bench.nowMs
    await makeWebhook()
    const turns = [
      () => runScript(bench, 'set key_1 allowance 90/day UTC'),
      () => bench.setApiKey('key_1', { creditLimitMicros: micros(90) }),
      () => runScript(bench, 'set key_1 allowance 90/week UTC'),
      () => bench.setApiKey('key_1', { creditLimitMicros: micros(91) }),
    ]
    for (let place = 0; place < 24; place++) {
      bench.nowMs = startMs + 1 + place * 7.5 * MINUTE_MS
      await setNothing()
      await look()
      await turns[place % turns.length]?.()
      await look()
      await look()
    }
    const said = (await eventsSoFar(bench.db)).map(([, data]) =>
      'allowance' in data ? 'allowance' : 'limit',
    )
    // In three hours.
    expect(said.toSorted()).toEqual([...Array(3).fill('allowance'), ...Array(3).fill('limit')])
    bench.nowMs += HOUR_MS
    await setNothing()
    await look()
    const { db } = bench
    expect(await db.selectFrom('webhook_conditions').selectAll().execute()).toEqual([])
  })

  test('a key that nears a new limit within the hour is reported after that hour, if it is still near it', async () => {
    const startMs = bench.nowMs
    await makeWebhook()
    await setLimit(90)
    bench.nowMs = startMs + MINUTE_MS
    await setLimit(200)
    await bench.setApiKey('key_1', { creditLimitMicros: micros(100) })
    for (const minutes of [2, 59, 60, 61, 120]) {
      bench.nowMs = startMs + minutes * MINUTE_MS
      await look()
    }
    expect(await reportedLimits()).toEqual([90, 100])
  })

  test('a condition that was never reported does not delay the next report', async () => {
    const startMs = bench.nowMs
    await setLimit(95)
    await makeWebhook()
    bench.nowMs = startMs + 5 * MINUTE_MS
    await setLimit(200)
    bench.nowMs = startMs + 20 * MINUTE_MS
    await setLimit(100)
    expect(await reportedLimits()).toEqual([100])
  })

  test('a message that was dropped does not delay the next report', async () => {
    const webhookId = await makeWebhook()
    const { db } = bench
    await fillQueue(webhookId)
    await setLimit(95)
    await db.deleteFrom('webhook_deliveries').execute()
    await setLimit(200)
    await setLimit(100)
    expect(await reportedLimits()).toEqual([100])
  })

  test('a webhook gets no report of a condition that began before the webhook, even if the report comes after', async () => {
    const startMs = bench.nowMs
    const first = await makeWebhook()
    await setLimit(95)
    bench.nowMs = startMs + 10 * MINUTE_MS
    await setLimit(200)
    await setLimit(100)
    bench.nowMs = startMs + 20 * MINUTE_MS
    const second = await makeWebhook()
    bench.nowMs = startMs + 30 * MINUTE_MS
    await look()
    bench.nowMs = startMs + 61 * MINUTE_MS
    await look()
    expect([await reportedLimits(first), await reportedLimits(second)]).toEqual([[95, 100], []])
    // A condition that ended and begins again is new to both, in its turn.
    await setLimit(200)
    await setLimit(95)
    bench.nowMs = startMs + 122 * MINUTE_MS
    await look()
    expect([await reportedLimits(first), await reportedLimits(second)]).toEqual([
      [95, 100, 95],
      [95],
    ])
  })

  test.each([
    ['enabled', { disabled: true }, { disabled: false }],
    ['given the event', { events: ['balance.low'] }, { events: ['balance.low', EVENT] }],
  ] as const)(
    'a webhook gets no report of a condition that began before it was %s',
    async (_, before, after) => {
      const startMs = bench.nowMs
      const first = await makeWebhook()
      const second = await makeWebhook()
      await setLimit(95)
      await change(bench, second, before)
      bench.nowMs = startMs + 10 * MINUTE_MS
      await setLimit(200)
      await setLimit(100)
      bench.nowMs = startMs + 20 * MINUTE_MS
      await change(bench, second, after)
      // The first already has the event, and keeps waiting.
      await change(bench, first, { events: ['balance.low', EVENT] })
      // More than an hour after that, as after a gateway was stopped for a time.
      bench.nowMs = startMs + 85 * MINUTE_MS
      await look()
      expect([await reportedLimits(first), await reportedLimits(second)]).toEqual([[95, 100], [95]])
      await setLimit(200)
      bench.nowMs = startMs + 150 * MINUTE_MS
      await setLimit(96)
      expect([await reportedLimits(first), await reportedLimits(second)]).toEqual([
        [95, 100, 96],
        [95, 96],
      ])
    },
  )

  test('a webhook gets no delayed report of a condition that its own creation noted', async () => {
    const startMs = bench.nowMs
    const first = await makeWebhook()
    await setLimit(95)
    await setLimit(200)
    await bench.setApiKey('key_1', { creditLimitMicros: micros(100) })
    const second = await makeWebhook()
    bench.nowMs = startMs + 61 * MINUTE_MS
    await look()
    expect([await reportedLimits(first), await reportedLimits(second)]).toEqual([[95, 100], []])
  })

  test('a clock that was far ahead delays no report after it is set back', async () => {
    const startMs = bench.nowMs
    await makeWebhook()
    bench.nowMs = startMs + 1_000 * HOUR_MS
    await setLimit(95)
    bench.nowMs = startMs + MINUTE_MS
    await setLimit(200)
    await setLimit(100)
    // In the order of their times.
    expect(await reportedLimits()).toEqual([100, 95])
  })

  test('a process that finds the hour over keeps the mark of a faster process', async () => {
    const startMs = bench.nowMs
    await makeWebhook()
    await setLimit(95)
    await setLimit(200)
    await setLimit(100)
    bench.nowMs = startMs + 61 * MINUTE_MS
    await look(afterReadOfMark(look))
    await setLimit(200)
    await setLimit(95)
    expect(await reportedLimits()).toEqual([95, 100])
    bench.nowMs = startMs + 122 * MINUTE_MS
    await look()
    expect(await reportedLimits()).toEqual([95, 100, 95])
  })

  test("a slow process sends no report within an hour of another process's report", async () => {
    const startMs = bench.nowMs
    await makeWebhook()
    await setLimit(95)
    await setLimit(200)
    await bench.setApiKey('key_1', { creditLimitMicros: micros(100) })
    bench.nowMs = startMs + 61 * MINUTE_MS
    const others = async () => {
      await look()
      await setLimit(200)
    }
    await look(afterReadOfMark(others))
    expect(await reportedLimits()).toEqual([95, 100])
    await look()
    await setLimit(96)
    bench.nowMs = startMs + 122 * MINUTE_MS
    await look()
    expect(await reportedLimits()).toEqual([95, 100, 96])
  })

  test('messages beyond the room of a webhook are dropped, and those up to it are sent', async () => {
    const webhookId = await makeWebhook()
    await fillQueue(webhookId, 9_990)
    const raised = Array.from({ length: 50 }, (_, number) => ({
      ...{ subjectId: `key_${number}`, sinceMs: bench.nowMs },
      fields: { credit_limit: number },
    }))
    await raiseConditions(bench, { event: EVENT, raised })
    expect(await eventsSoFar(bench.db, webhookId)).toHaveLength(10_000)
  })

  test('fifty conditions are reported to two webhooks in as many statements as one to one', async () => {
    let statements = 0
    const db = bench.db.withPlugin({
      transformQuery({ node }) {
        statements++
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const raise = async (numbers: readonly number[]) => {
      statements = 0
      const raised = numbers.map((number) => {
        const subject = { subjectId: `key_${number}`, mark: reportedMark(`key_${number % 40}`) }
        return { ...subject, sinceMs: bench.nowMs, fields: { credit_limit: number } }
      })
      await raiseConditions({ ids: bench.ids, nowMs: bench.nowMs, db }, { event: EVENT, raised })
      return statements
    }
    await makeWebhook()
    const ofOne = await raise([79])
    const webhookId = await makeWebhook()
    const numbers = Array.from({ length: 50 }, (_, number) => number)
    // One statement more ends those that wait: of conditions with the same mark, one is reported.
    expect(await raise(numbers)).toBe(ofOne + 1)
    expect(new Set((await reportedLimits(webhookId)).map((number) => number % 40)).size).toBe(39)
    expect(await reportedLimits(webhookId)).toHaveLength(39)
  })
})

/** So many messages wait for a webhook that further ones are dropped. */
async function fillQueue(webhookId: string, waiting = 10_000): Promise<void> {
  const message = { webhookId, event: 'webhook.test', body: '{}', state: 'waiting' } as const
  const times = { nextAttemptAtMs: bench.nowMs, createdAtMs: bench.nowMs }
  for (let from = 0; from < waiting; from += 1_000) {
    const rows = Array.from({ length: Math.min(1_000, waiting - from) }, () =>
      WEBHOOK_DELIVERIES.record({
        ...WEBHOOK_DELIVERIES.start,
        ...{ id: bench.ids.next('msg'), ...message, ...times },
      }),
    )
    await bench.db.insertInto('webhook_deliveries').values(rows).execute()
  }
}
