import { expect, test } from 'vitest'
import type { Offer } from '../../../vocabulary/offer.ts'
import { sizeHold } from '../hold.ts'
import { callWith, offerWith, type TestCall, usd } from './offers.ts'

/** One call at one offer, with its hold. */
export interface HoldRow {
  readonly name: string
  /** The call's fields besides 600 tokens of text, which a template makes 1,000. */
  readonly call: Partial<TestCall>
  readonly offer: Offer
  readonly neededMicros: number
  /** Left out if it equals the need. */
  readonly leastMicros?: number
  /** Left out if no cap is sent. */
  readonly capTokens?: number
}

/** A dollar for a million input tokens, two for output; a window of 100,000 and answers of 8,000. */
export const PLAIN: Offer = offerWith({ input: usd('0.000001'), output: usd('0.000002') })

/** `PLAIN` with changes. */
export function plainWith(rest: Partial<Offer>): Offer {
  return { ...PLAIN, ...rest }
}

/** A test for each row of its exact need, least and cap. */
export function testHolds(rows: readonly HoldRow[]): void {
  test.each(rows)('$name', ({ call, offer, neededMicros, leastMicros, capTokens }) => {
    const size = sizeHold(callWith(call), offer)
    expect({ needed: size.neededMicros, least: size.leastMicros, cap: size.capTokens }).toEqual({
      needed: neededMicros,
      least: leastMicros ?? neededMicros,
      cap: capTokens ?? null,
    })
  })
}
