import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { PaymentUnavailable } from './card/provider.ts'
import { checkCards } from './check-payments.ts'
import { moveCursor, readCursor } from './cursors.ts'
import { CardBench, CREDIT, MINUTE_MS } from './testing/card-bench.ts'
import type { StripeServer } from './testing/stripe-server.ts'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: CardBench
  let stripe: StripeServer

  beforeEach(async () => {
    bench = await CardBench.open(open)
    stripe = bench.stripe
  })
  afterEach(() => bench.close())

  test('a payment page asks for the price, accepts only cards, and is created once', async () => {
    const source = await bench.gateway().begin()
    expect(stripe.sessions).toMatchObject([
      {
        id: source.replace('stripe:', ''),
        amount_subtotal: 1_000,
        currency: 'usd',
        client_reference_id: expect.stringMatching(/^pur_/),
        metadata: { tollgate_store: 'store_1', tollgate_account: 'A' },
      },
    ])
    expect(stripe.asked).toMatchObject({
      mode: 'payment',
      'allowed_payment_method_types[0]': 'card',
      success_url: 'https://gate.example/app/A/credit?bought=pur_1',
      cancel_url: 'https://gate.example/app/A/credit',
    })
  })

  test('a payment page that the customer left is found again while Stripe accepts payment on it', async () => {
    const { begin, sale } = bench.gateway()
    const page = async (source: string) => {
      const purchase = await bench.purchase(source)
      return purchase && sale.openPage(purchase)
    }
    const [paid, expired] = [await begin(), await begin()]
    for (const [place, source] of [paid, expired].entries()) {
      expect(await page(source)).toBe(stripe.sessions[place]?.url)
    }
    stripe.pay(paid)
    stripe.expire(expired)
    expect([await page(paid), await page(expired)]).toEqual([null, null])
    stripe.state = 'failing'
    await expect(page(paid)).rejects.toThrow(PaymentUnavailable)
  })

  test('a payment is credited once, without any message, when several gateways look repeatedly', async () => {
    const [one, other] = [bench.gateway(), bench.gateway()]
    const source = await one.begin()
    await one.pass()
    expect(await bench.balance()).toBe(0)
    stripe.pay(source)
    await Promise.all([one.pass(), other.pass(), one.poll.look(), other.poll.look()])
    await one.pass()
    expect(await bench.balance()).toBe(CREDIT)
    expect(bench.failures).toEqual([])
  })

  test('a look that follows a report is not repeated for the same report', async () => {
    const { pass } = await bench.paid()
    stripe.calls.length = 0
    await pass()
    await pass()
    expect(new Set(stripe.calls)).toEqual(new Set(['GET /v1/events']))
  })

  test('payments that Stripe does not report are found by a look every five minutes', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass()
    stripe.pay(source)
    stripe.forgetEvents()
    await pass()
    expect(await bench.balance()).toBe(0)
    await pass(5 * MINUTE_MS)
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('open payments are looked at just as often after the clock was set back', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass()
    await pass(-30 * MINUTE_MS)
    stripe.pay(source)
    stripe.forgetEvents()
    await pass(5 * MINUTE_MS)
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('a late payment is credited, even after its page expired', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    stripe.expire(source)
    await pass(61 * MINUTE_MS)
    expect(await bench.stateOf(source)).toBe('expired')
    stripe.change(source, { status: 'open' })
    stripe.pay(source)
    await pass()
    expect(await bench.stateOf(source)).toBe('credited')
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('a page that expires is looked at once more, and then never again', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass(59 * MINUTE_MS)
    stripe.change(source, { status: 'expired' })
    await pass(2 * MINUTE_MS)
    expect(await bench.stateOf(source)).toBe('expired')
    stripe.calls.length = 0
    await pass(60 * MINUTE_MS)
    expect(stripe.calls).toEqual(['GET /v1/events'])
  })

  test('a refund removes its part of the credit, even if that credit was spent', async () => {
    const { source, pass } = await bench.paid()
    stripe.refund(source, 333)
    await pass()
    expect(await bench.balance()).toBe(6_670_000)
    await pass()
    stripe.refund(source, 1_000)
    await pass()
    expect(await bench.balance()).toBe(0)
  })

  test('a refund that fails later restores its part of the credit', async () => {
    const { source, pass } = await bench.paid()
    stripe.refund(source, 1_000)
    await pass()
    stripe.refund(source, 0)
    await pass()
    expect(await bench.balance()).toBe(CREDIT)
  })

  test.each([
    ['needs_response', 0, 'open'],
    ['under_review', 0, 'open'],
    ['lost', 0, 'lost'],
    ['won', CREDIT, 'won'],
    ['prevented', CREDIT, 'won'],
    ['warning_needs_response', CREDIT, null],
    ['warning_closed', CREDIT, null],
  ] as const)(
    'a dispute that is %s leaves %i of the credit, and is %s',
    async (status, left, dispute) => {
      const { source, pass } = await bench.paid()
      stripe.dispute(source, 'needs_response')
      await pass()
      expect(await bench.balance()).toBe(0)
      stripe.dispute(source, status)
      await pass()
      expect(await bench.balance()).toBe(left)
      expect(await bench.purchase(source)).toMatchObject({ dispute })
    },
  )

  test('the end of a dispute whose report is gone is found by a look once a day', async () => {
    const { source, pass } = await bench.paid()
    stripe.dispute(source, 'needs_response')
    await pass()
    stripe.dispute(source, 'lost')
    stripe.forgetEvents()
    await pass()
    expect(await bench.purchase(source)).toMatchObject({ dispute: 'open' })
    stripe.nowMs += 24 * 3_600_000
    await pass()
    expect(await bench.purchase(source)).toMatchObject({ dispute: 'lost', reversals: 1 })
  })

  test('a dispute of a refunded payment removes no credit twice', async () => {
    const { source, pass } = await bench.paid()
    stripe.refund(source, 400)
    stripe.dispute(source, 'lost')
    await pass()
    expect(await bench.balance()).toBe(0)
  })

  test('a look that is older than a newer refund does not undo it', async () => {
    const { source, sale } = await bench.paid()
    let isFirst = true
    // Between this answer and its arrival all is paid back, and another gateway has seen it.
    const other = bench.gateway()
    const held = Promise.withResolvers<void>()
    stripe.holdAnswer = async (call) => {
      if (!isFirst || !call.includes('/sessions/')) return
      isFirst = false
      stripe.refund(source, 1_000)
      await other.sale.look(source)
      held.resolve()
    }
    await sale.look(source)
    await held.promise
    expect(await bench.balance()).toBe(0)
  })

  test.each<[string, (source: string) => void]>([
    ['nothing was to be paid', (source) => stripe.completeForNothing(source)],
    ['another purchase is named', (source) => change(source, { client_reference_id: 'pur_x' })],
    ['it was paid in the test mode', (source) => change(source, { livemode: false })],
    ['another currency was paid', (source) => change(source, { currency: 'eur' })],
    ['less was asked for', (source) => change(source, { amount_subtotal: 900, amount_total: 900 })],
    ['more was asked for', (source) => change(source, { amount_subtotal: 1_100 })],
    ['the total is below the price', (source) => change(source, { amount_total: 900 })],
    [
      'a discount was given',
      (source) =>
        change(source, {
          amount_total: 900,
          total_details: { amount_discount: 100, amount_shipping: 0, amount_tax: 0 },
        }),
    ],
    ['the charge failed', (source) => stripe.pay(source, { paid: false })],
    ['the charge is not captured', (source) => stripe.pay(source, { captured: false })],
    ['a part was captured', (source) => stripe.pay(source, { amount_captured: 500 })],
    ['the charge is in euros', (source) => stripe.pay(source, { currency: 'eur' })],
  ])('a payment is held where %s', async (_what, pay) => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    pay(source)
    await pass()
    expect(await bench.purchase(source)).toMatchObject({ state: 'held', note: expect.any(String) })
    expect(await bench.balance()).toBe(0)
    expect(bench.failures).toEqual([])
  })

  function change(source: string, changes: Parameters<StripeServer['change']>[1]): void {
    stripe.change(source, changes)
    stripe.pay(source)
  }

  test('taxes on top of the price are no reason to hold a payment, and a refund counts them in proportion', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    const total_details = { amount_discount: 0, amount_shipping: 0, amount_tax: 200 }
    change(source, { amount_total: 1_200, total_details })
    await pass()
    expect(await bench.balance()).toBe(CREDIT)
    expect(await bench.purchase(source)).toMatchObject({ taxUnits: 200n })
    stripe.refund(source, 600)
    await pass()
    expect(await bench.balance()).toBe(CREDIT / 2)
  })

  test('a refund removes its part of a purchase whose charge is in another currency than its price', async () => {
    const { source, sale } = await bench.paid()
    stripe.pay(source, { currency: 'eur' })
    stripe.refund(source, 500)
    await sale.look(source)
    expect(await bench.balance()).toBe(CREDIT / 2)
  })

  test('while Stripe is down nothing changes, and every payment is found when it is back', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass()
    stripe.pay(source)
    for (const state of ['failing', 'broken'] as const) {
      stripe.state = state
      await expect(pass()).rejects.toThrow('the call to Stripe failed')
      await expect(begin()).rejects.toThrow('the call to Stripe failed')
    }
    expect(await bench.balance()).toBe(0)
    stripe.state = 'up'
    await pass()
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('a report whose look failed is tried again after later reports', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    stripe.pay(source)
    await pass()
    stripe.failing = '/v1/checkout/sessions/'
    stripe.refund(source, 1_000)
    for (let number = 0; number < 5; number++) {
      stripe.nowMs += 20 * MINUTE_MS
      stripe.reportOther('charge.refunded', { object: 'charge', payment_intent: 'pi_other' })
      await pass()
    }
    stripe.failing = null
    // Another process, which has no memory of what failed.
    await bench.gateway().pass()
    expect(await bench.balance()).toBe(0)
  })

  test('a report about a payment that Stripe no longer has does not delay later reports', async () => {
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass()
    stripe.pay(source)
    stripe.lose(source)
    await pass()
    expect(bench.failures.join()).toMatch('Stripe does not have this payment')
    for (let number = 0; number < 3; number++) {
      stripe.reportOther('charge.refunded', { object: 'charge', payment_intent: 'pi_other' })
      await pass(20 * MINUTE_MS)
    }
    const cursor = await readCursor(bench.store.store.db, 'stripe')
    expect(Number(cursor?.position) * 1_000).toBeGreaterThan(stripe.nowMs - 21 * MINUTE_MS)
  })

  test('a check finds payments that differ from the store, and changes nothing', async () => {
    const { source: refunded } = await bench.paid()
    const { begin, pass, method } = bench.gateway()
    const [left, paid, lost] = [await begin(), await begin(), await begin()]
    await pass()
    stripe.refund(refunded, 250)
    stripe.pay(paid)
    stripe.pay(lost)
    await bench.store.store.db.deleteFrom('purchases').where('source', '=', lost).execute()
    const check = () =>
      checkCards({ db: bench.store.store.db, method, sinceMs: 0, onChecked: () => {} })
    const { checked, differences } = await check()
    expect(checked).toBe(4)
    expect(differences).toEqual([
      { source: lost, stored: 'no purchase', found: 'paid' },
      { source: paid, stored: 'open, $0.00 refunded or disputed', found: 'paid' },
      {
        source: refunded,
        stored: 'credited, paid 1000 usd, $0.00 refunded or disputed',
        found: '$2.50 refunded or disputed',
      },
    ])
    expect(await bench.stateOf(left)).toBe('open')
    await pass()
    expect((await check()).differences).toEqual([])
  })

  test("the operator's other sales at Stripe are ignored", async () => {
    const { pass } = bench.gateway()
    stripe.reportOther('charge.refunded', { object: 'charge', payment_intent: 'pi_other' })
    stripe.reportOther('charge.refunded', { object: 'charge', payment_intent: null })
    stripe.reportOther('checkout.session.completed', {
      object: 'checkout.session',
      id: 'cs_other',
      client_reference_id: 'order 7',
      metadata: { tollgate_store: 'store_2' },
    })
    await pass()
    expect(new Set(stripe.calls)).toEqual(new Set(['GET /v1/events']))
    expect(bench.failures).toEqual([])
  })

  test('a payment that a restored backup does not know is held, and its approval adds its credit', async () => {
    const { begin, pass, sale } = bench.gateway()
    const source = await begin()
    await bench.store.store.db.deleteFrom('purchases').execute()
    stripe.pay(source)
    await pass()
    await pass()
    expect(await bench.purchase(source)).toMatchObject({
      state: 'held',
      creditMicros: CREDIT,
      note: expect.stringContaining('backup'),
    })
    expect(await sale.approve(source, null)).toMatchObject({ isChanged: true })
    expect(await bench.balance()).toBe(CREDIT)
  })

  test('a payment that the store has lost is found again by the gateway that found it before', async () => {
    const { db } = bench.store.store
    const { begin, pass } = bench.gateway()
    const source = await begin()
    await pass()
    const before = await readCursor(db, 'stripe')
    if (before === null) throw new Error('no look was noted')
    stripe.pay(source, { amount_captured: 500 })
    await pass()
    expect(await bench.stateOf(source)).toBe('held')
    await db.deleteFrom('purchases').execute()
    const after = await readCursor(db, 'stripe')
    expect(await moveCursor(db, { from: after, to: before })).toBe(true)
    await pass()
    expect(await bench.stateOf(source)).toBe('held')
  })

  test('a payment of an account that a restored backup does not know is reported once', async () => {
    const { begin, pass } = bench.gateway()
    await bench.store.createAccount('B')
    const source = await begin('B')
    await bench.store.store.db.deleteFrom('purchases').execute()
    await bench.store.store.db.deleteFrom('accounts').where('id', '=', 'B').execute()
    stripe.pay(source)
    await pass()
    await pass()
    expect(bench.failures).toEqual([expect.stringContaining('of the account B')])
  })
})
