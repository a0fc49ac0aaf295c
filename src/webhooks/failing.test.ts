import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { WEBHOOK_DELIVERIES, WEBHOOKS, type WebhookDeliveryRow } from '../store/webhook-tables.ts'
import { failingOf } from './deliveries.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    for (const id of ['hook_1', 'hook_2']) {
      const webhook = { ...WEBHOOKS.start, id, url: 'https://receiver.example/', events: '' }
      const record = WEBHOOKS.record({ ...webhook, secret: 'whsec_', createdAtMs: 0 })
      await bench.db.insertInto('webhooks').values(record).execute()
    }
  })
  afterEach(() => bench.close())

  async function add(place: number, fields: Partial<WebhookDeliveryRow>): Promise<void> {
    const row: WebhookDeliveryRow = {
      ...WEBHOOK_DELIVERIES.start,
      id: `msg_${place}`,
      webhookId: 'hook_1',
      event: 'webhook.test',
      body: '{}',
      state: 'waiting',
      nextAttemptAtMs: place,
      createdAtMs: place,
      ...fields,
    }
    await bench.db.insertInto('webhook_deliveries').values(WEBHOOK_DELIVERIES.record(row)).execute()
  }

  test('a webhook fails from its first message after the last delivery on, with the latest failure', async () => {
    const failing = () => failingOf(bench.db, 'hook_1')
    await add(1, {})
    expect(await failing()).toBeNull()
    await add(2, { state: 'failed', attempts: 10, failure: 'early' })
    expect(await failing()).toEqual({ sinceMs: 2, failure: 'early' })
    await add(3, { state: 'delivered', attempts: 1 })
    expect(await failing()).toBeNull()
    await add(4, { attempts: 2, failure: 'answered with 503' })
    await add(5, { attempts: 1, failure: 'did not answer in time' })
    await add(6, {})
    await add(7, { webhookId: 'hook_2', attempts: 1, failure: 'of another' })
    expect(await failing()).toEqual({ sinceMs: 4, failure: 'did not answer in time' })
    await add(8, { state: 'delivered', attempts: 1 })
    expect(await failing()).toBeNull()
  })
})
