import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { type FoundPayment, postLook } from '../ledger/testing/paid-look.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { eventsSoFar } from './testing/events.ts'
import { makeWebhook, watcherOf } from './testing/watch.ts'

/** The event of refunds and disputes of purchases. */

let bench: StoreBench

const look = () => watcherOf(bench).look()
const events = () => eventsSoFar(bench.db)

/** A look at a payment, a millisecond later. */
async function find(name: string, found: FoundPayment = {}): Promise<void> {
  bench.nowMs += 1
  await postLook(bench, name, found)
}

const posted = (fields: object) => ({
  ...{ purchase_id: 'pur_P', account_id: 'A', payment_ref: 'pi_P', credit: 1_000 },
  ...{ created_at: new Date(bench.nowMs).toISOString(), ...fields },
})

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('A')
  })
  afterEach(() => bench.auditAndClose())

  test('a refund, a dispute and a won dispute are each sent once, with the credit that remains', async () => {
    await makeWebhook(bench, ['purchase.reversed'])
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
    await makeWebhook(bench, ['purchase.reversed'])
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
    bench.nowMs += 1
    await makeWebhook(bench, ['purchase.reversed'])
    await look()
    expect(await events()).toEqual([])
    await find('P', { back: 5n })
    await look()
    expect(await events()).toMatchObject([['purchase.reversed', { amount: -200 }]])
  })

  test('a refund that no server found within seven days is not sent, and records of sent refunds are deleted', async () => {
    await makeWebhook(bench, ['purchase.reversed'])
    await find('P')
    await find('P', { back: 3n })
    await look()
    bench.nowMs += 8 * DAY_MS
    await find('Q')
    await find('Q', { back: 10n })
    bench.nowMs += 7 * DAY_MS
    await look()
    expect(await events()).toMatchObject([['purchase.reversed', { purchase_id: 'pur_P' }]])
    const notes = await bench.db.selectFrom('webhook_conditions').selectAll().execute()
    expect(notes).toEqual([])
  })
})
