import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { type FoundPayment, postLook } from '../ledger/testing/paid-look.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { createWebhook } from './registry.ts'
import { eventsSoFar } from './testing/events.ts'
import { noteConditions, Watcher } from './watcher.ts'

/** The event of refunds and disputes of purchases. */

const DAY_MS = 86_400_000

let bench: StoreBench
let nowMs: number

const clock = { nowMs: () => nowMs }
const ids = createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) })

const onFailure = (cause: unknown) => {
  throw cause
}
const watcher = () => {
  const asked = { upstreams: [], awayAfterMs: 7 * DAY_MS, onPass: null, onFailure }
  return new Watcher({ ...asked, db: bench.store.db, ids, clock })
}
const look = () => watcher().look()
const events = () => eventsSoFar(bench.store.db)

async function makeWebhook(): Promise<void> {
  const parts = { db: bench.store.db, ids, clock }
  const events = ['purchase.reversed'] as const
  await noteConditions(parts, events, null)
  await createWebhook(parts, { url: 'https://receiver.example/', events, by: null })
}

/** A look at a payment, a millisecond later. */
async function find(name: string, found: FoundPayment = {}): Promise<void> {
  nowMs += 1
  bench.setNowMs(nowMs)
  await postLook(bench, name, found)
}

const posted = (fields: object) => ({
  ...{ purchase_id: 'pur_P', account_id: 'A', payment_ref: 'pi_P', credit: 1_000 },
  ...{ created_at: new Date(nowMs).toISOString(), ...fields },
})

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    nowMs = Date.parse('2027-01-01')
    bench = await open({ limits: LEDGER_LIMITS_DEFAULT })
    bench.setNowMs(nowMs)
    await bench.createAccount('A')
  })
  afterEach(async () => {
    await bench.audit()
    await bench.close()
  })

  test('a refund, a dispute and a won dispute are each sent once, with the credit that remains', async () => {
    await makeWebhook()
    await find('P')
    await look()
    expect(await events()).toEqual([])
    const expected: object[] = []
    const expectSent = async (fields: object) => {
      expected.push(posted(fields))
      await Promise.all([look(), look(), look()])
      await look()
      expect(await events()).toEqual(expected.map((data) => ['purchase.reversed', data]))
    }
    await find('P', { back: 3n })
    await expectSent({
      ...{ amount: -300, reversal: 'partly_refunded', reversed: 300, remaining: 700, balance: 700 },
    })
    await find('P', { back: 10n, dispute: 'open' })
    await expectSent({
      ...{ amount: -700, reversal: 'disputed', reversed: 1_000, remaining: 0, balance: 0 },
    })
    await find('P', { back: 3n })
    await expectSent({
      ...{ amount: 700, reversal: 'partly_refunded', reversed: 300, remaining: 700, balance: 700 },
    })
    await find('P', { back: 10n })
    await expectSent({
      ...{ amount: -700, reversal: 'refunded', reversed: 1_000, remaining: 0, balance: 0 },
    })
  })

  test('the event of a refund of spent credit has the debt', async () => {
    await makeWebhook()
    await find('P')
    const spent = {
      accountId: 'A',
      purse: 'backed',
      expiresAtMs: null,
      reference: 'spent',
    } as const
    await bench.ledger.addCredit({ ...spent, amountMicros: micros(-400) })
    await find('P', { back: 10n })
    await look()
    expect(await events()).toMatchObject([['purchase.reversed', { amount: -1_000, balance: -400 }]])
  })

  test('a refund from before a webhook was created is not sent to it', async () => {
    await find('P')
    await find('P', { back: 3n })
    nowMs += 1
    await makeWebhook()
    await look()
    expect(await events()).toEqual([])
    await find('P', { back: 5n })
    await look()
    expect(await events()).toMatchObject([['purchase.reversed', { amount: -200 }]])
  })

  test('a refund that no server found within seven days is not sent, and records of sent refunds are deleted', async () => {
    await makeWebhook()
    await find('P')
    await find('P', { back: 3n })
    await look()
    nowMs += 8 * DAY_MS
    await find('Q')
    await find('Q', { back: 10n })
    nowMs += 7 * DAY_MS
    await look()
    expect(await events()).toMatchObject([['purchase.reversed', { purchase_id: 'pur_P' }]])
    const notes = await bench.store.db.selectFrom('webhook_conditions').selectAll().execute()
    expect(notes).toEqual([])
  })
})
