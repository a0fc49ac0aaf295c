import fc from 'fast-check'

const account = fc.constantFrom('A1', 'A2')

/** Events of purchases at the provider, and looks of the gateway. */
export type PurchaseStep =
  | {
      readonly kind: 'begin'
      readonly account: string
      readonly credit: number
      readonly units: number
    }
  | { readonly kind: 'truth'; readonly back: number; readonly change: string; readonly by: number }
  | { readonly kind: 'look'; readonly back: number; readonly judged: string; readonly of: string }
  | { readonly kind: 'land'; readonly back: number; readonly words: string }
  | { readonly kind: 'dismiss'; readonly back: number }

// Few purchases, and looks that land soon or late.
const purchaseAge = fc.integer({ min: 0, max: 2 })

/** Steps of few purchases, so that most of their looks race with others. */
export const purchaseStep: fc.Arbitrary<PurchaseStep> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('begin'),
      account,
      credit: fc.integer({ min: 1, max: 60 }),
      units: fc.integer({ min: 1, max: 30 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('truth'),
      back: purchaseAge,
      change: fc.constantFrom(
        ...['pay', 'pay', 'refund', 'refund', 'refund', 'win', 'expire', 'dispute', 'dispute'],
      ),
      by: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('look'),
      back: purchaseAge,
      judged: fc.constantFrom('', '', '', '', '', 'hold 60', 'hold 7', 'hold -', 'small'),
      // Now and then a look that names another account, or other money than was paid.
      of: fc.constantFrom(...new Array<string>(12).fill(''), 'other account', 'other payment'),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('land'),
      back: fc.integer({ min: 0, max: 4 }),
      words: fc.constantFrom('', '', '', ' approved'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('dismiss'), back: purchaseAge }) },
)

/** A purchase as its provider has it. */
export interface Truth {
  readonly account: string
  readonly credit: number
  readonly units: number
  found: string
  /** The units that were refunded or disputed. */
  back: number
  disputed: boolean
}

/** An event at the provider: only an open payment is paid or expires, and only a paid one is returned. */
export function changeTruth(
  truth: Truth,
  { change, by }: { readonly change: string; readonly by: number },
): void {
  if (truth.found === 'open' && change === 'pay') truth.found = 'paid'
  if (truth.found === 'open' && change === 'expire') truth.found = 'expired'
  if (truth.found !== 'paid') return
  if (change === 'refund') truth.back = Math.min(truth.units, truth.back + by)
  if (change === 'win') truth.back = Math.max(0, truth.back - by)
  if (change === 'dispute') truth.disputed = !truth.disputed
}
