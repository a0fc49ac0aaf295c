import { expect, test } from 'vitest'
import type { Offer } from '../../../vocabulary/offer.ts'
import { sizeHold } from '../hold.ts'
import { callWith, offerWith, type TestCall, usd } from './offers.ts'

/** One call at one offer, with its hold in micro-dollars. */
export type HoldRow = readonly [
  name: string,
  /** The call's fields besides 600 tokens of text, which a template makes 1,000. */
  call: Partial<TestCall>,
  needed: number,
  /** The offer's differences from `PLAIN`; the least hold, if below the need; the cap, if one is sent. */
  rest?: { readonly offer?: Partial<Offer>; readonly least?: number; readonly cap?: number },
]

/** A dollar for a million input tokens, two for output; a window of 100,000 and answers of 8,000. */
export const PLAIN: Offer = offerWith({ input: usd('0.000001'), output: usd('0.000002') })

/** A call with this cap of its client, and these fields. */
export function capped(outputCapTokens: number, rest: Partial<TestCall> = {}): Partial<TestCall> {
  return { outputCapTokens, ...rest }
}

/** A test for each row of its exact need, least and cap. */
export function testHolds(rows: readonly HoldRow[]): void {
  for (const [name, call, needed, rest = {}] of rows) {
    test(name, () => {
      const size = sizeHold(callWith(call), { ...PLAIN, ...rest.offer })
      const { neededMicros, leastMicros, capTokens } = size
      const { least = needed, cap = null } = rest
      expect({ neededMicros, leastMicros, capTokens }).toEqual({
        neededMicros: needed,
        leastMicros: least,
        capTokens: cap,
      })
    })
  }
}
