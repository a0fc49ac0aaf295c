import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { micros } from '../vocabulary/money.ts'
import { CardBench, CREDIT, MINUTE_MS, NO_CEILINGS } from './testing/card-bench.ts'
import type { StripeServer } from './testing/stripe-server.ts'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: CardBench
  let stripe: StripeServer

  beforeEach(async () => {
    bench = await CardBench.open(open)
    stripe = bench.stripe
  })
  afterEach(() => bench.close())

  /** Makes every account so many days old. */
  const ageAccounts = (days: number) =>
    bench.store.store.db
      .updateTable('accounts')
      .set({ created_at_ms: stripe.nowMs - days * 24 * 60 * MINUTE_MS })
      .execute()

  test('a payment above the ceiling for a single payment is held', async () => {
    const ceilings = { ...NO_CEILINGS, holdAboveMicros: micros(CREDIT - 1) }
    const { begin, pass, sale } = bench.gateway(ceilings)
    const source = await begin()
    stripe.pay(source)
    await pass()
    await pass()
    expect(await bench.purchase(source)).toMatchObject({
      state: 'held',
      note: 'above the ceiling of $9.999999 for one purchase',
    })
    await sale.approve(source, null)
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('a payment of exactly the ceiling for a single payment is credited', async () => {
    const { begin, pass } = bench.gateway({ ...NO_CEILINGS, holdAboveMicros: CREDIT })
    const source = await begin()
    stripe.pay(source)
    await pass()
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('several gateways that find payments at the same time credit at most the daily ceiling', async () => {
    const ceilings = { ...NO_CEILINGS, holdAboveDailyMicros: micros(3 * CREDIT) }
    const [one, other] = [bench.gateway(ceilings), bench.gateway(ceilings)]
    const accountIds = ['B1', 'B2', 'B3', 'B4', 'B5', 'B6', 'B7', 'B8']
    for (const accountId of accountIds) await bench.store.createAccount(accountId)
    const sources = await Promise.all(accountIds.map((accountId) => one.begin(accountId)))
    for (const source of sources) stripe.pay(source)
    await Promise.all(sources.flatMap((source) => [one.sale.look(source), other.sale.look(source)]))
    const states = await Promise.all(sources.map((source) => bench.stateOf(source)))
    const credited = sources.filter((_, place) => states[place] === 'credited')
    expect(states.filter((state) => state === 'held')).toHaveLength(8 - credited.length)
    // Two processes of a SQLite store, such as a command beside the server, do not wait for each other.
    if (bench.store.store.location.kind === 'postgres') expect(credited).toHaveLength(3)
    const [held = ''] = sources.filter((_, place) => states[place] === 'held')
    await one.sale.approve(held, null)
    expect(await bench.stateOf(held)).toBe('credited')
    // A day later all is free again.
    stripe.nowMs += 25 * 60 * MINUTE_MS
    await bench.store.createAccount('B9')
    const later = await one.begin('B9')
    stripe.pay(later)
    await one.pass()
    expect(await bench.stateOf(later)).toBe('credited')
  })

  test("a payment that an admin approved does not count towards the day's ceiling", async () => {
    const ceilings = { ...NO_CEILINGS, holdAboveDailyMicros: micros(2 * CREDIT) }
    const { begin, pass, sale } = bench.gateway(ceilings)
    for (const accountId of ['B1', 'B2', 'B3']) await bench.store.createAccount(accountId)
    const large = await begin('B1', micros(3 * CREDIT))
    stripe.pay(large)
    await pass()
    expect(await bench.stateOf(large)).toBe('held')
    await sale.approve(large, null)
    // On the same day: two more are within the ceiling, as if nothing had been approved.
    for (const accountId of ['B2', 'B3']) {
      const later = await begin(accountId)
      stripe.pay(later)
      await pass()
      expect(await bench.stateOf(later)).toBe('credited')
    }
  })

  test('an account that starts payments at several gateways at the same time has at most five open', async () => {
    const gateways = [bench.gateway(), bench.gateway(), bench.gateway()]
    const asked = gateways.flatMap(({ ask }) => [ask(), ask(), ask(), ask()])
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual([...Array(5).fill('begun'), ...Array(7).fill('tooManyOpen')])
    const beganMs = stripe.nowMs
    const refused = await gateways[0]?.ask()
    expect(refused).toMatchObject({ kind: 'tooManyOpen', nextAtMs: expect.any(Number) })
    stripe.nowMs = refused?.kind === 'tooManyOpen' ? refused.nextAtMs : beganMs
    bench.store.nowMs = stripe.nowMs
    expect(await gateways[0]?.ask()).toMatchObject({ kind: 'begun' })
  })

  test('a new account can buy fifty dollars in 24 hours by card, and any amount later', async () => {
    await ageAccounts(0)
    const { ask, begin } = bench.gateway()
    expect(await ask('A', micros(50_010_000))).toMatchObject({ kind: 'newAccount', nextAtMs: null })
    const beganMs = stripe.nowMs
    for (let number = 0; number < 4; number++) {
      stripe.pay(await begin())
      await bench.gateway().pass()
    }
    stripe.expire(await begin())
    await bench.gateway().pass()
    const refused = { kind: 'newAccount', nextAtMs: beganMs + 24 * 60 * MINUTE_MS }
    expect(await ask('A', micros(10_010_000))).toMatchObject(refused)
    expect(await ask('A', micros(10_000_000))).toMatchObject({ kind: 'begun' })
    expect(await ask('A', micros(5_000_000))).toMatchObject(refused)
    stripe.nowMs = beganMs + 24 * 60 * MINUTE_MS + 1
    bench.store.nowMs = stripe.nowMs
    expect(await ask('A', micros(10_000_000))).toMatchObject({ kind: 'begun' })
    await ageAccounts(7)
    expect(await ask('A', micros(500_000_000))).toMatchObject({ kind: 'begun' })
  })

  test('a new account that begins payments at several gateways at once begins fifty dollars of them', async () => {
    await ageAccounts(0)
    const gateways = [bench.gateway(), bench.gateway(), bench.gateway()]
    const asked = gateways.map(({ ask }) => ask('A', micros(20_000_000)))
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual(['begun', 'begun', 'newAccount'])
    expect(await gateways[0]?.ask('A', micros(10_000_000))).toMatchObject({ kind: 'begun' })
  })

  test("a payment that an admin dismissed does not count towards a new account's fifty dollars", async () => {
    await ageAccounts(0)
    const { ask, begin, pass } = bench.gateway()
    const source = await begin()
    stripe.pay(source, { currency: 'eur' })
    await pass()
    expect(await ask('A', micros(50_000_000))).toMatchObject({ kind: 'newAccount' })
    const { id: purchaseId = '' } = (await bench.purchase(source)) ?? {}
    await bench.store.ledger.dismissPurchase({ purchaseId, note: 'paid back' }, null)
    expect(await ask('A', micros(50_000_000))).toMatchObject({ kind: 'begun' })
  })

  test('an account with a disputed payment can pay by card again after it wins the dispute', async () => {
    const { source, ask, pass } = await bench.paid()
    stripe.dispute(source, 'needs_response')
    await pass()
    expect(await ask()).toEqual({ kind: 'disputed' })
    await bench.store.createAccount('B')
    expect(await ask('B')).toMatchObject({ kind: 'begun' })
    stripe.dispute(source, 'lost')
    await pass()
    expect(await ask()).toEqual({ kind: 'disputed' })
    stripe.dispute(source, 'won')
    await pass()
    expect(await ask()).toMatchObject({ kind: 'begun' })
  })

  test("an account that is not in the store can't start a payment", async () => {
    expect(await bench.gateway().ask('nobody')).toEqual({ kind: 'unknownAccount' })
    expect(stripe.calls).toEqual([])
  })

  test('an approval adds the captured part of the price', async () => {
    const { begin, pass, sale } = bench.gateway()
    const source = await begin()
    stripe.pay(source, { amount_captured: 500 })
    await pass()
    expect(await sale.approve(source, null)).toMatchObject({ isChanged: true })
    expect(await bench.balance()).toBe(CREDIT / 2)
  })

  test('an approval of a payment with a discount adds neither the discount nor the tax', async () => {
    const { begin, pass, sale } = bench.gateway()
    const source = await begin()
    const total_details = { amount_discount: 500, amount_shipping: 0, amount_tax: 100 }
    stripe.change(source, { amount_total: 600, total_details })
    stripe.pay(source)
    await pass()
    expect(await sale.approve(source, null)).toMatchObject({ isChanged: true })
    expect(await bench.balance()).toBe(CREDIT / 2)
  })

  test('a payment with a price in dollars and a charge in euros counts as euros, and no approval adds credit for it', async () => {
    const { begin, pass, sale } = bench.gateway()
    const source = await begin()
    stripe.pay(source, { currency: 'eur' })
    await pass()
    expect(await sale.approve(source, null)).toMatchObject({ isChanged: false })
    const paid = { paidCurrency: 'eur', paidUnits: 1_000n }
    expect(await bench.purchase(source)).toMatchObject({ state: 'held', paid })
    expect(await bench.balance()).toBe(0)
  })

  test('a payment that is still processing is credited without an admin when it completes', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    stripe.change(source, { status: 'complete', payment_status: 'unpaid' })
    await pass()
    expect(await bench.purchase(source)).toMatchObject({ state: 'open' })
    stripe.pay(source)
    await pass()
    expect(await bench.purchase(source)).toMatchObject({ state: 'credited' })
    expect(await bench.balance()).toBe(CREDIT)
  })
})
