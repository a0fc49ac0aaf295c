import { expect, test } from 'vitest'
import type { Offer } from '../../../vocabulary/offer.ts'
import { sizeHold } from '../hold.ts'
import { callWith, offerWith, type TestCall, usd } from './offers.ts'

/** One call at one offer, and what it is held at. */
export interface HoldRow {
  readonly name: string
  /** What the call has beside 600 tokens of text, which a template makes 1,000. */
  readonly call: Partial<TestCall>
  readonly offer: Offer
  readonly neededMicros: number
  /** Left out where it equals what is needed. */
  readonly leastMicros?: number
  /** Left out where no cap is sent. */
  readonly capTokens?: number
}

/** A dollar a million tokens in, two out; a window of 100,000 and answers of 8,000. */
export const PLAIN: Offer = offerWith({ input: usd('0.000001'), output: usd('0.000002') })

/** The same with something else about it. */
export function plainWith(rest: Partial<Offer>): Offer {
  return { ...PLAIN, ...rest }
}

/** A test for each row: needed, least and cap exactly as it says. */
export function testHolds(rows: readonly HoldRow[]): void {
  test.each(rows)('$name', ({ call, offer, neededMicros, leastMicros, capTokens }) => {
    const size = sizeHold(callWith(call), offer)
    expect({
      needed: size.neededMicros,
      least: size.leastMicros,
      cap: size.capTokens,
    }).toEqual({
      needed: neededMicros,
      least: leastMicros ?? neededMicros,
      cap: capTokens ?? null,
    })
  })
}
