import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UnsettledRequest } from '../ledger/activity/unsettled.ts'
import { FACTS } from '../ledger/testing/script.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { usageOf } from '../vocabulary/testing/token-usage.ts'
import {
  firstLookupAtMs,
  LOOKUP_INTERVAL_MS_MAX,
  nextLookupAtMs,
  type ScheduleInput,
  settledAsItStandsAtMs,
  unsettledAfter,
} from './schedule.ts'

const moments = fc.integer({ min: 0, max: 10 * DAY_MS })
const scheduled: fc.Arbitrary<ScheduleInput> = fc.record({
  request: fc.record<UnsettledRequest>({
    requestId: fc.constant('R'),
    state: fc.constantFrom('provisional', 'unresolved'),
    generationId: fc.constant('gen-1'),
    costReported: fc.boolean(),
    expectsCost: fc.boolean(),
    feeBasisPoints: fc.constant(500),
    endedAtMs: moments,
  }),
  silence: fc.constantFrom('noGenerationId', 'unknown', 'noEndpoint', 'unavailable'),
  patience: fc.record({
    settleAfterMs: fc.integer({ min: 1, max: 2 * DAY_MS }),
    settleAfterNoLookupMs: fc.integer({ min: 1, max: 2 * DAY_MS }),
  }),
  askingSinceMs: moments,
})

test("look-ups get rarer, at most five minutes apart, and never pass the request's deadline", () => {
  fc.assert(
    fc.property(scheduled, moments, (input, nowMs) => {
      const nextAtMs = nextLookupAtMs({ ...input, nowMs })
      const standsAtMs = settledAsItStandsAtMs(input)
      expect(nextAtMs).toBeGreaterThan(nowMs)
      expect(nextAtMs).toBeLessThanOrEqual(nowMs + LOOKUP_INTERVAL_MS_MAX)
      if (standsAtMs > nowMs) expect(nextAtMs).toBeLessThanOrEqual(standsAtMs)
    }),
  )
})

test('the first look-up is within two seconds, however the clock was set', () => {
  fc.assert(
    fc.property(scheduled, moments, ({ request }, nowMs) => {
      expect(firstLookupAtMs(request, nowMs) - nowMs).toBeLessThan(2_000)
    }),
  )
})

test('the less certain it is that a record is missing, the later its request is settled', () => {
  fc.assert(
    fc.property(scheduled, (input) => {
      const standsAtMs = (silence: ScheduleInput['silence']) =>
        settledAsItStandsAtMs({ ...input, silence })
      expect(standsAtMs('noEndpoint')).toBeLessThanOrEqual(standsAtMs('unknown'))
      expect(standsAtMs('unknown')).toBeLessThan(standsAtMs('unavailable'))
      expect(standsAtMs('unavailable')).toBeGreaterThanOrEqual(input.askingSinceMs + HOUR_MS)
    }),
  )
})

test('only a reported cost that needs checking waits for a look-up', () => {
  const waits = (stands: boolean) => {
    const resolution = {
      kind: 'provisional',
      chargeMicros: micros(1_050),
      costUsd: { digits: 1n, exponent: -3 },
      generationId: 'gen-1',
      stands,
    } as const
    const settled = { state: 'provisional', chargedMicros: micros(1_050) } as const
    const input = { requestId: 'R', resolution, facts: FACTS, feeBasisPoints: 500 }
    return unsettledAfter(
      { ...settled, overrunMicros: micros(0), settledNow: true },
      { input, nowMs: 7 },
    )
  }
  expect(waits(true)).toBeNull()
  expect(waits(false)).toMatchObject({ generationId: 'gen-1', costReported: true, endedAtMs: 7 })
})

const TOKENS = usageOf({ inputTokens: 10, outputTokens: 5 })

test.each([
  ['a reported cost, also without tokens', { digits: 1n, chargedMicros: 0, usage: null }, true],
  ['a reported cost of zero', { digits: 0n, chargedMicros: 9, usage: TOKENS }, false],
  ['tokens at a price', { digits: null, chargedMicros: 9, usage: TOKENS }, true],
  ['tokens of a free model', { digits: null, chargedMicros: 0, usage: TOKENS }, false],
  ['an answer without tokens', { digits: null, chargedMicros: 9, usage: null }, false],
] as const)(
  'a record with a cost of zero is doubted only where the answer shows a cost: after %s',
  (_, { digits, chargedMicros, usage }, isDoubted) => {
    const costUsd = digits === null ? null : { digits, exponent: -3 }
    const charge = { chargeMicros: micros(chargedMicros), costUsd, generationId: 'gen-1' }
    const resolution = { kind: 'provisional', ...charge } as const
    const settled = { state: 'provisional', chargedMicros: micros(chargedMicros) } as const
    const input = { requestId: 'R', resolution, facts: { ...FACTS, usage }, feeBasisPoints: 500 }
    const unsettled = unsettledAfter(
      { ...settled, overrunMicros: micros(0), settledNow: true },
      { input, nowMs: 7 },
    )
    expect(unsettled).toMatchObject({ expectsCost: isDoubted, costReported: costUsd !== null })
  },
)
