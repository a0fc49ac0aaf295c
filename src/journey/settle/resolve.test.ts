import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../vocabulary/call.ts'
import { type Decimal, micros, parseDecimal } from '../../vocabulary/money.ts'
import {
  NOTHING_REPORTED,
  type Outcome,
  type Reported,
  type Resolution,
  type TokenUsage,
} from '../../vocabulary/outcome.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { callWith, offerWith, usd } from '../hold-size/testing/offers.ts'
import { resolveOutcome } from './resolve.ts'

// A micro-dollar a token in, two a token out.
const OFFER = offerWith({ input: usd('0.000001'), output: usd('0.000002') })

function cost(text: string): Decimal {
  const decimal = parseDecimal(text)
  if (decimal === null) throw new TypeError(text)
  return decimal
}

// Reports in every combination. The cost is 0.001; the counts cost 20 micro-dollars.
const COST = cost('0.001')
const COUNTS = usageOf('10 in, 5 out')
const ID = 'gen-1'
const ALL: Reported = { usage: COUNTS, costUsd: COST, generationId: ID }
const COST_AND_ID: Reported = { ...ALL, usage: null }
const COST_ALONE: Reported = { ...NOTHING_REPORTED, costUsd: COST }
const COST_AND_COUNTS: Reported = { ...ALL, generationId: null }
const COUNTS_AND_ID: Reported = { ...ALL, costUsd: null }
const COUNTS_ALONE: Reported = { ...NOTHING_REPORTED, usage: COUNTS }
const ID_ALONE: Reported = { ...NOTHING_REPORTED, generationId: ID }
const FREE_OF_COST: Reported = { ...ALL, costUsd: cost('0') }
const COUNTS_OF_NOTHING: Reported = { ...COUNTS_AND_ID, usage: usageOf('0 in, 0 out') }

// The resolution in a few words: the state, the charge, and whether it is an estimate.
const RELEASED = 'released'
const UNRESOLVED = 'unresolved'
const UNRESOLVED_WITH_ID = 'unresolved gen-1'
const COST_FINAL = 'final 1050'
const COST_PROVISIONAL = 'provisional 1050'
const ESTIMATE = 'provisional estimate 21'

function inWords(resolution: Resolution): string {
  switch (resolution.kind) {
    case 'released':
      return 'released'
    case 'unresolved':
      return resolution.generationId === null ? UNRESOLVED : `unresolved ${resolution.generationId}`
    case 'final':
      return `final ${resolution.chargeMicros}`
    case 'provisional': {
      const how = resolution.costUsd === null ? 'provisional estimate' : 'provisional'
      return `${how} ${resolution.chargeMicros}`
    }
  }
}

/** With a hold above any charge here. */
function resolve(outcome: Outcome, call: Call, grantedMicros = micros(1_000_000)): Resolution {
  const ran = { outcome, call, offer: OFFER, tokenFactor: 1 }
  return resolveOutcome({ ...ran, grantedMicros, hasLookUps: true })
}

interface Way {
  readonly stream: boolean
  readonly endpoint?: string
}

const WHOLE: Way = { stream: false }
const STREAM: Way = { stream: true }
const IMAGE: Way = { stream: false, endpoint: 'images' }

function resolved(outcome: Outcome, { stream, endpoint = 'chat' }: Way): string {
  const call = callWith({ stream, endpoint })
  return inWords(resolve(outcome, call))
}

const ended = {
  completed: (reported: Reported): Outcome => ({ kind: 'completed', reported }),
  failed: (reported: Reported): Outcome => ({ kind: 'failed', reported }),
  neverOpened: (): Outcome => ({ kind: 'neverOpened' }),
  lostEarly: (reported: Reported): Outcome => ({ kind: 'lost', stage: 'beforeHeaders', reported }),
  lost: (reported: Reported): Outcome => ({ kind: 'lost', stage: 'afterHeaders', reported }),
  lateEarly: (reported: Reported): Outcome => ({
    kind: 'timedOut',
    stage: 'beforeHeaders',
    reported,
  }),
  late: (reported: Reported): Outcome => ({ kind: 'timedOut', stage: 'afterHeaders', reported }),
  leftEarly: (reported: Reported): Outcome => ({ kind: 'leftEarly', reported }),
}

describe('a success', () => {
  test.each<[string, Reported, Way, string]>([
    ['cost and id', ALL, WHOLE, COST_PROVISIONAL],
    ['cost and id, no counts', COST_AND_ID, WHOLE, COST_PROVISIONAL],
    ['cost, no id', COST_AND_COUNTS, WHOLE, COST_FINAL],
    ['cost alone, as on images', COST_ALONE, IMAGE, COST_FINAL],
    ['no cost, no id', COUNTS_ALONE, WHOLE, UNRESOLVED],
    ['nothing', NOTHING_REPORTED, WHOLE, UNRESOLVED],
    ['nothing, of an image', NOTHING_REPORTED, IMAGE, UNRESOLVED],
    [
      'counts and id, of embeddings',
      COUNTS_AND_ID,
      { stream: false, endpoint: 'embeddings' },
      ESTIMATE,
    ],
    ['counts and id, of any other', COUNTS_AND_ID, WHOLE, ESTIMATE],
    ['id alone', ID_ALONE, WHOLE, UNRESOLVED_WITH_ID],
    ['a cost of nothing', FREE_OF_COST, WHOLE, 'provisional 0'],
    ['cost and id', ALL, STREAM, COST_PROVISIONAL],
    ['cost alone', COST_ALONE, STREAM, COST_FINAL],
    ['counts and id', COUNTS_AND_ID, STREAM, ESTIMATE],
    ['counts of nothing and id', COUNTS_OF_NOTHING, STREAM, 'provisional estimate 0'],
    ['counts of nothing and id', COUNTS_OF_NOTHING, WHOLE, 'provisional estimate 0'],
    ['id alone', ID_ALONE, STREAM, UNRESOLVED_WITH_ID],
    ['nothing', NOTHING_REPORTED, STREAM, UNRESOLVED],
  ])('that reports %s (%#)', (_, reported, way, expected) => {
    expect(resolved(ended.completed(reported), way)).toBe(expected)
  })
})

describe('an error of the provider costs its reported cost, and nothing else', () => {
  test.each<[string, Reported, string]>([
    ['nothing', NOTHING_REPORTED, RELEASED],
    ['an id', ID_ALONE, RELEASED],
    ['counts and an id', COUNTS_AND_ID, RELEASED],
    ['a cost of nothing', FREE_OF_COST, RELEASED],
    ['a cost', COST_ALONE, COST_FINAL],
    ['a cost and an id', ALL, COST_PROVISIONAL],
  ])('that reports %s', (_, reported, expected) => {
    expect(resolved(ended.failed(reported), WHOLE)).toBe(expected)
    expect(resolved(ended.failed(reported), STREAM)).toBe(expected)
  })
})

test.each([[WHOLE], [STREAM], [IMAGE]])('a call that was never opened costs nothing: %j', (way) => {
  expect(resolved(ended.neverOpened(), way)).toBe(RELEASED)
})

describe('a whole answer that was lost or timed out keeps its hold', () => {
  test.each<[keyof typeof ended, Reported, string]>([
    ['lostEarly', NOTHING_REPORTED, UNRESOLVED],
    ['lost', NOTHING_REPORTED, UNRESOLVED],
    ['lost', ID_ALONE, UNRESOLVED_WITH_ID],
    ['lateEarly', NOTHING_REPORTED, UNRESOLVED],
    ['late', NOTHING_REPORTED, UNRESOLVED],
    ['late', ID_ALONE, UNRESOLVED_WITH_ID],
  ])('%s', (how, reported, expected) => {
    expect(resolved(ended[how](reported), WHOLE)).toBe(expected)
    expect(resolved(ended[how](reported), IMAGE)).toBe(expected)
  })
})

describe('a stream that was lost or timed out', () => {
  test.each<[keyof typeof ended]>([['lostEarly'], ['lateEarly']])(
    'before its headers costs nothing: %s',
    (how) => {
      for (const reported of [NOTHING_REPORTED, ID_ALONE, COUNTS_AND_ID, ALL]) {
        expect(resolved(ended[how](reported), STREAM)).toBe(RELEASED)
      }
    },
  )

  test('is looked up by its ID, although nothing is charged yet', () => {
    for (const how of ['lost', 'late'] as const) {
      const resolution = resolve(ended[how](ID_ALONE), callWith({ stream: true, endpoint: 'chat' }))
      expect(resolution).toEqual({ kind: 'released', billedAs: ID })
    }
  })

  test.each<[string, Reported, string]>([
    ['an id', ID_ALONE, UNRESOLVED_WITH_ID],
    ['counts and an id', COUNTS_AND_ID, ESTIMATE],
    ['nothing', NOTHING_REPORTED, RELEASED],
  ])('that could not be read is charged its looked-up cost: %s', (_, reported, expected) => {
    expect(resolved({ kind: 'unreadable', reported }, STREAM)).toBe(expected)
  })

  test.each<[string, Reported, string]>([
    ['a cost and an id', ALL, COST_PROVISIONAL],
    ['a cost', COST_ALONE, COST_FINAL],
    ['counts and an id', COUNTS_AND_ID, ESTIMATE],
    ['counts', COUNTS_ALONE, RELEASED],
    ['an id', ID_ALONE, RELEASED],
    ['nothing', NOTHING_REPORTED, RELEASED],
  ])('after its headers is charged by its report: %s', (_, reported, expected) => {
    expect(resolved(ended.lost(reported), STREAM)).toBe(expected)
    expect(resolved(ended.late(reported), STREAM)).toBe(expected)
  })
})

describe('a stream whose client left before its headers', () => {
  test.each<[string, Reported, string]>([
    ['a cost and an id', ALL, COST_PROVISIONAL],
    ['a cost', COST_ALONE, COST_FINAL],
    ['an id', ID_ALONE, UNRESOLVED_WITH_ID],
    ['counts and an id', COUNTS_AND_ID, UNRESOLVED_WITH_ID],
    ['counts', COUNTS_ALONE, ESTIMATE],
    ['nothing', NOTHING_REPORTED, UNRESOLVED],
  ])('is not free for that reason: it reported %s', (_, reported, expected) => {
    expect(resolved(ended.leftEarly(reported), STREAM)).toBe(expected)
  })
})

describe('a client that left a stream', () => {
  // 600 tokens of text, at a micro-dollar each.
  const promptTokens = 600
  const left = (reported: Reported, relayedTokens: number): Outcome => ({
    kind: 'clientGone',
    stage: 'afterHeaders',
    reported,
    relayedTokens,
  })
  const withFee = (costMicros: number) => Math.round(costMicros * 1.05)

  test.each<[string, Reported, number, string]>([
    ['a cost and an id', ALL, 50, COST_PROVISIONAL],
    ['a cost', COST_ALONE, 50, COST_FINAL],
    ['nothing', NOTHING_REPORTED, 50, RELEASED],
    ['counts without an id', COUNTS_ALONE, 50, RELEASED],
    ['an id', ID_ALONE, 50, `provisional estimate ${withFee(promptTokens + 2 * 50)}`],
    ['an id, before any text', ID_ALONE, 0, `provisional estimate ${withFee(promptTokens)}`],
    ['counts and an id', COUNTS_AND_ID, 0, ESTIMATE],
    [
      'counts, and more text after them',
      COUNTS_AND_ID,
      50,
      `provisional estimate ${withFee(10 + 2 * 55)}`,
    ],
  ])('that reported %s', (_, reported, relayedTokens, expected) => {
    expect(resolved(left(reported, relayedTokens), STREAM)).toBe(expected)
  })

  test('before its headers is charged nothing', () => {
    const outcome = { ...left(NOTHING_REPORTED, 0), stage: 'beforeHeaders' } as const
    expect(resolved(outcome, STREAM)).toBe(RELEASED)
  })

  test('is charged for no more output than its cap, unless the provider counted more', () => {
    const call = callWith({ stream: true, outputCapTokens: 100 })
    const chargeOf = (reported: Reported) => inWords(resolve(left(reported, 5_000), call))
    expect(chargeOf(ID_ALONE)).toBe(`provisional estimate ${withFee(promptTokens + 2 * 100)}`)
    const counted = { ...ID_ALONE, usage: usageOf('10 in, 120 out') }
    expect(chargeOf(counted)).toBe(`provisional estimate ${withFee(10 + 2 * 120)}`)
  })
})

describe('an estimate for a client that left', () => {
  const left = (reported: Reported): Outcome => ({
    kind: 'clientGone',
    stage: 'afterHeaders',
    reported,
    relayedTokens: 5_000,
  })
  const call = callWith({ stream: true })

  test('is never above the hold, which bounds the charge if the cap was lowered to it', () => {
    expect(inWords(resolve(left(ID_ALONE), call, micros(2_000)))).toBe('provisional estimate 2000')
    expect(inWords(resolve(left(COUNTS_AND_ID), call, micros(2_000)))).toBe(
      'provisional estimate 2000',
    )
  })

  test("is never below the provider's own counts, even above the hold", () => {
    expect(inWords(resolve(left(COUNTS_AND_ID), call, micros(15)))).toBe(ESTIMATE)
  })

  test("is not bounded by the hold if it is the provider's own cost: the overrun is recorded", () => {
    expect(inWords(resolve(ended.completed(COUNTS_AND_ID), call, micros(15)))).toBe(ESTIMATE)
    expect(inWords(resolve(ended.lost(COUNTS_AND_ID), call, micros(15)))).toBe(ESTIMATE)
  })
})

test.each<[string, boolean, Reported['servedTier'], string]>([
  ['as requested', true, undefined, 'provisional estimate 126'],
  ['as the answer reports', true, 'priority', 'provisional estimate 126'],
  ['unless the answer reports another', true, 'standard', ESTIMATE],
  ['only if requested', false, 'priority', ESTIMATE],
])('tokens are charged at the priority tier %s', (_, priorityTier, servedTier, expected) => {
  const reported = servedTier === undefined ? COUNTS_AND_ID : { ...COUNTS_AND_ID, servedTier }
  const call = callWith({ priorityTier })
  const resolution = resolve(ended.completed(reported), call)
  expect(inWords(resolution)).toBe(expected)
})

test('a cost or counts above any real amount are ignored', () => {
  const absurd: Reported = { ...ALL, costUsd: cost('1e30') }
  expect(resolved(ended.completed(absurd), WHOLE)).toBe(ESTIMATE)
  expect(resolved(ended.completed({ ...absurd, generationId: null }), WHOLE)).toBe(UNRESOLVED)
  expect(resolved(ended.failed(absurd), WHOLE)).toBe(RELEASED)
  const most = Number.MAX_SAFE_INTEGER
  const many = usageOf({ inputTokens: most, outputTokens: most })
  const counted = { ...COUNTS_AND_ID, usage: many }
  expect(resolved(ended.completed(counted), WHOLE)).toBe(UNRESOLVED_WITH_ID)
})

describe('any report of an answer', () => {
  const count = fc.oneof(fc.nat(1_000_000), fc.maxSafeNat())
  const usage: fc.Arbitrary<TokenUsage> = fc.record({
    inputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    cacheWriteLongTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    imageOutputTokens: count,
    searches: count,
  })
  const reported: fc.Arbitrary<Reported> = fc.record({
    usage: fc.option(usage),
    costUsd: fc.option(
      fc.record({
        digits: fc.bigInt({ min: 0n, max: 10n ** 40n }),
        exponent: fc.integer({ min: -60, max: 99 }),
      }),
    ),
    generationId: fc.option(fc.constant(ID)),
  })
  const stage = fc.constantFrom('beforeHeaders' as const, 'afterHeaders' as const)
  const outcome: fc.Arbitrary<Outcome> = fc.oneof(
    fc.record({ kind: fc.constantFrom('completed' as const, 'failed' as const), reported }),
    fc.record({ kind: fc.constantFrom('lost' as const, 'timedOut' as const), stage, reported }),
    fc.record({ kind: fc.constant('clientGone' as const), stage, reported, relayedTokens: count }),
    fc.constant<Outcome>({ kind: 'neverOpened' }),
  )

  test("has a resolution, and only the provider's cost or counts are charged", () => {
    fc.assert(
      fc.property(outcome, fc.boolean(), (each, stream) => {
        const resolution = resolve(each, callWith({ stream }))
        if (resolution.kind !== 'final' && resolution.kind !== 'provisional') return
        expect(Number.isSafeInteger(resolution.chargeMicros)).toBe(true)
        expect(resolution.chargeMicros).toBeGreaterThanOrEqual(0)
        expect(each.kind).not.toBe('neverOpened')
        if (each.kind === 'failed') expect(each.reported.costUsd).not.toBeNull()
      }),
    )
  })
})
