import type { Kysely } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import type { Tables } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { lockWaits } from '../store/testing/lock-waits.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import { storeOfTest } from '../store/testing/test-databases.ts'
import type { WebhookRow } from '../store/webhook-tables.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { endConditions, endMarks, heldOf, noteMark, raiseConditions } from './conditions.ts'
import { addMessage } from './deliveries.ts'
import { createWebhook, deleteWebhook } from './registry.ts'
import { eventsSoFar } from './testing/events.ts'

/** Webhooks and their conditions are deleted from a PostgreSQL store while a gateway writes. SQLite runs one transaction at a time. */

const ids = createIdSource({
  clock: systemClock,
  fillRandom: (bytes) => void crypto.getRandomValues(bytes),
})

let store: Store
let webhook: WebhookRow
let other: WebhookRow

beforeEach(async () => {
  store = await storeOfTest(createPostgresDatabase)
  webhook = await make('https://receiver.example/')
  other = await make('https://other.example/')
})

function make(url: string): Promise<WebhookRow> {
  const parts = { db: store.db, ids, clock: systemClock }
  return createWebhook(parts, { url, events: ['store.went_back'], by: null })
}

const remove = (db: Kysely<Tables>) =>
  deleteWebhook({ db, clock: systemClock }, { webhookId: webhook.id, by: null })

test('a webhook is deleted with a message that is being made', async () => {
  const later = await store.db.transaction().execute(async (trx) => {
    const nowMs = systemClock.nowMs()
    await addMessage(trx, { ids, nowMs, webhook, event: 'webhook.test', fields: {} })
    const deleted = expect(remove(store.db)).resolves.toBe(webhook.url)
    await lockWaits(store.db, 1)
    return { deleted }
  })
  await later.deleted
  expect(await eventsSoFar(store.db)).toEqual([])
})

test('an event reaches the other webhooks while one is being deleted', async () => {
  const later = await store.db.transaction().execute(async (trx) => {
    await trx.deleteFrom('webhooks').where('id', '=', webhook.id).execute()
    const sinceMs = systemClock.nowMs()
    const gaps = {
      event: 'store.went_back',
      raised: [{ subjectId: 'gap_1', sinceMs, fields: {} }],
    } as const
    const raising = raiseConditions({ db: store.db, ids, nowMs: sinceMs }, gaps)
    const made = expect(raising).resolves.toBeUndefined()
    await lockWaits(store.db, 1)
    return { made }
  })
  await later.made
  expect(await eventsSoFar(store.db)).toHaveLength(1)
  expect(await eventsSoFar(store.db, other.id)).toHaveLength(1)
})

test.each([
  ['marks', endMarks],
  ['conditions', endConditions],
])(
  '%s that another process writes are left, so that processes do not wait for each other',
  async (_, end) => {
    const event = 'key.limit_near'
    const marks = ['mark_1', 'mark_2']
    for (const mark of marks) await noteMark(store.db, { event, mark, nowMs: 0 })
    await store.db.transaction().execute(async (trx) => {
      await noteMark(trx, { event, mark: 'mark_2', nowMs: 0 })
      const nowMs = systemClock.nowMs()
      await end(store.db, { event, marks, subjectIds: marks, nowMs })
      const held = await heldOf(store.db, { event, subjectIds: marks })
      expect([...held.keys()]).toEqual(['mark_2'])
    })
  },
)
