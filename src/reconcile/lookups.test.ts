import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CostClaim } from '../journey/journey-parts.ts'
import { micros, parseDecimal } from '../vocabulary/money.ts'
import { DRAWN_ONE_OF, LookupPolicy, Lookups } from './lookups.ts'

test.each([
  [0, 200],
  [250, 205],
  [500, 210],
  [10_000, 400],
])(
  'a looked-up cost is charged with the fee of its request: %i hundredths of a percent',
  async (feeBasisPoints, chargeMicros) => {
    const costUsd = parseDecimal('0.0002') ?? expect.unreachable()
    const lookups = new Lookups({
      fetchGeneration: async () => ({ kind: 'found', costUsd, usage: null }),
      clock: { nowMs: () => 1_000 },
      onUnanswered: () => {},
      onEndpointMissing: () => {},
      onDoubted: () => {},
    })
    const request = {
      requestId: 'R',
      state: 'unresolved',
      generationId: 'gen-1',
      costReported: false,
      expectsCost: true,
      feeBasisPoints,
      endedAtMs: 0,
    } as const
    expect(await lookups.ask(request, 'gen-1')).toEqual({ kind: 'final', chargeMicros, costUsd })
  },
)

const ABOVE_MICROS = 100_000

function policyOf(
  secret: string,
  { lookups = 'verify' as 'verify' | 'all', isDoubted = false } = {},
) {
  return new LookupPolicy({
    settings: { lookups, aboveMicros: ABOVE_MICROS },
    drawSecret: createHash('sha256').update(secret).digest('hex'),
    doubts: { covers: () => isDoubted },
  })
}

const claim: fc.Arbitrary<CostClaim> = fc.record({
  requestId: fc.stringMatching(/^req_[0-9a-z]{26}$/),
  upstream: fc.constant('openrouter'),
  modelId: fc.constantFrom('acme/one', 'acme/two'),
  endpoint: fc.constantFrom('chat', 'messages'),
  stream: fc.boolean(),
  chargeMicros: fc.integer({ min: 0, max: 2 * ABOVE_MICROS }).map(micros),
  ownProviderKey: fc.boolean(),
})

test('a cost is looked up if another key paid it, if it is large or in doubt, or if all costs are looked up', () => {
  fc.assert(
    fc.property(
      claim,
      fc.string(),
      fc.boolean(),
      fc.boolean(),
      (claimed, secret, all, isDoubted) => {
        const policy = policyOf(secret, { lookups: all ? 'all' : 'verify', isDoubted })
        const mustBeLookedUp =
          claimed.ownProviderKey || claimed.chargeMicros > ABOVE_MICROS || all || isDoubted
        if (mustBeLookedUp) expect(policy.stands(claimed)).toBe(false)
      },
    ),
  )
})

test('one in a hundred is drawn, always the same ones for a secret, and different ones for another secret', () => {
  const small: CostClaim = {
    requestId: '',
    upstream: 'openrouter',
    modelId: 'acme/one',
    endpoint: 'chat',
    stream: false,
    // Not above the setting.
    chargeMicros: micros(ABOVE_MICROS),
    ownProviderKey: false,
  }
  const claims = 20_000
  const drawnBy = (secret: string) => {
    const policy = policyOf(secret)
    const drawn = new Set<number>()
    for (let number = 0; number < claims; number++) {
      if (!policy.stands({ ...small, requestId: `req_${number}` })) drawn.add(number)
    }
    return drawn
  }
  const drawn = drawnBy('one')
  expect(drawnBy('one')).toEqual(drawn)
  // Five standard deviations around the mean; the secrets are fixed, so that it is always the same.
  const mean = claims / DRAWN_ONE_OF
  expect(Math.abs(drawn.size - mean)).toBeLessThan(5 * Math.sqrt(mean))
  const others = drawnBy('two')
  expect(drawn.intersection(others).size).toBeLessThan(mean / 10)
})
