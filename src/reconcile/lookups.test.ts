import { expect, test } from 'vitest'
import { parseDecimal } from '../vocabulary/money.ts'
import { Lookups } from './lookups.ts'

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
