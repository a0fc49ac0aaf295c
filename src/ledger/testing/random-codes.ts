import fc from 'fast-check'

/** Credit codes that are made, and accounts that redeem them. */
export type CodeStep =
  | {
      readonly kind: 'code'
      readonly micros: number
      /** How long it can be redeemed; null: for ever. */
      readonly inMs: number | null
      readonly isRevoked: boolean
    }
  | { readonly kind: 'redeem'; readonly account: string; readonly back: number }

/** Steps with few codes; several accounts try to redeem most of them. */
export const codeStep: fc.Arbitrary<CodeStep> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('code'),
      micros: fc.integer({ min: 1, max: 80 }),
      inMs: fc.constantFrom(null, null, 300, 1_000, 59_999, 60_000),
      isRevoked: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('redeem'),
      account: fc.constantFrom('A1', 'A2'),
      back: fc.integer({ min: 0, max: 2 }),
    }),
  },
)

/** The words of the action that makes a code. By position: the code, and the moment. */
export function codeWords(
  { micros, inMs, isRevoked }: Extract<CodeStep, { kind: 'code' }>,
  nowMs: number,
): string {
  const until = inMs === null ? '' : ` until ${(nowMs + inMs) / 1_000}`
  return `${micros}${until}${isRevoked ? ' revoked' : ''}`
}
