import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { CardBench, CREDIT } from './testing/card-bench.ts'
import type { StripeServer } from './testing/stripe-server.ts'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: CardBench
  let stripe: StripeServer

  beforeEach(async () => {
    bench = await CardBench.open(open)
    stripe = bench.stripe
  })
  afterEach(() => bench.close())

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
