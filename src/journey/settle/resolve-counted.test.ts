import { describe, expect, test } from 'vitest'
import { formatDecimal, type Micros, micros } from '../../vocabulary/money.ts'
import { NOTHING_REPORTED, type Outcome, type Reported } from '../../vocabulary/outcome.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { callWith, offerWith, usd } from '../hold-size/testing/offers.ts'
import { resolveOutcome } from './resolve.ts'

/* A provider that bills by its counts and has no look-ups. */

const OFFER = offerWith({
  input: usd('0.000001'),
  output: usd('0.000004'),
  cacheRead: usd('0.0000001'),
  cacheWrite: usd('0.00000125'),
  cacheWriteLong: usd('0.000002'),
  search: usd('0.01'),
})

/** The usage of 100 tokens in and 25 out, with these counts in addition or instead. */
const usage = (counts = '0 searches') => usageOf(`100 in, 25 out, ${counts}`)

const PARTIAL: Reported = { ...NOTHING_REPORTED, usage: usage('1 out') }
const COUNTED: Reported = { ...NOTHING_REPORTED, usage: usage(), countsAreCost: true }

function resolve(outcome: Outcome, { stream = true, grantedMicros = micros(1_000_000) } = {}) {
  const call = callWith({ stream, textTokens: 100 })
  return resolveOutcome({
    outcome,
    call,
    offer: OFFER,
    tokenFactor: 1,
    grantedMicros,
    hasLookUps: false,
  })
}

const UNRESOLVED = { kind: 'unresolved', generationId: null }
const FINAL = { kind: 'final', chargeMicros: 210 }

function left(reported: Reported, relayedTokens: number, silentMs = 0): Outcome {
  return { kind: 'clientGone', stage: 'afterHeaders', reported, relayedTokens, silentMs }
}

describe('counts of a whole answer are its cost', () => {
  test.each<[string, string, string, number]>([
    ['input and output', '0 read', '0.0002', 210],
    ['cache reads', '1,000 read', '0.0003', 315],
    ['cache writes of both lifetimes', '80 written, 50 written long', '0.0004', 420],
    ['reasoning, which is part of the output', '20 reasoning', '0.0002', 210],
    ['searches', '2 searches', '0.0202', 21_210],
    ['nothing written', '0 out', '0.0001', 105],
  ])('%s', (_, counts, costUsd, chargeMicros) => {
    const reported = { ...COUNTED, usage: usage(counts) }
    const resolution = resolve({ kind: 'completed', reported })
    expect(resolution).toMatchObject({ kind: 'final', chargeMicros })
    expect(resolution.kind === 'final' && formatDecimal(resolution.costUsd)).toBe(costUsd)
  })

  test('even if the answer breaks off after them, times out, fails, or its client leaves', () => {
    const stage = 'afterHeaders'
    expect(resolve({ kind: 'lost', stage, reported: COUNTED })).toMatchObject(FINAL)
    expect(resolve({ kind: 'timedOut', stage, reported: COUNTED })).toMatchObject(FINAL)
    expect(resolve({ kind: 'failed', reported: COUNTED })).toMatchObject(FINAL)
    expect(resolve({ kind: 'leftEarly', reported: COUNTED })).toMatchObject(FINAL)
    expect(resolve(left(COUNTED, 0))).toMatchObject(FINAL)
  })

  test('a cost of zero, for a model without a price, is final', () => {
    const offer = offerWith({ input: 0n, output: 0n })
    const outcome = { kind: 'completed', reported: COUNTED } as const
    const grantedMicros = micros(0)
    const call = callWith({ stream: false })
    expect(
      resolveOutcome({ outcome, call, offer, tokenFactor: 1, grantedMicros, hasLookUps: false }),
    ).toEqual({ kind: 'final', chargeMicros: 0, costUsd: { digits: 0n, exponent: -12 } })
  })
})

test('counts at a more expensive tier that the call did not ask for leave the request unresolved', () => {
  const reported = { ...COUNTED, servedTier: 'priority' } as const
  expect(resolve({ kind: 'completed', reported })).toEqual(UNRESOLVED)
  expect(resolve({ kind: 'completed', reported }, { stream: false })).toEqual(UNRESOLVED)
  const standard = { ...COUNTED, servedTier: 'standard' } as const
  expect(resolve({ kind: 'completed', reported: standard })).toMatchObject(FINAL)
})

test('an answer without counts is unresolved, streamed or not', () => {
  const outcome: Outcome = { kind: 'completed', reported: NOTHING_REPORTED }
  expect(resolve(outcome, { stream: true })).toEqual(UNRESOLVED)
  expect(resolve(outcome, { stream: false })).toEqual(UNRESOLVED)
})

test.each(['completed', 'leftEarly'] as const)(
  'a stream without its expected counts is estimated by its text, within the hold: %s',
  (kind) => {
    const outcome: Outcome = { kind, reported: { ...NOTHING_REPORTED, uncountedTokens: 25 } }
    const estimate = { kind: 'provisional', costUsd: null, generationId: null }
    const resolution = resolve(outcome)
    expect(resolution).toMatchObject(estimate)
    expect(resolution.kind === 'provisional' && resolution.chargeMicros).toBeGreaterThanOrEqual(210)
    const grantedMicros = micros(7)
    expect(resolve(outcome, { grantedMicros })).toEqual({
      ...estimate,
      chargeMicros: grantedMicros,
    })
  },
)

test('a stream that is cut or left after counts that are not believed is charged the same estimate', () => {
  const reported = { ...NOTHING_REPORTED, uncountedTokens: 25 }
  const whole = resolve({ kind: 'completed', reported })
  expect(whole).toMatchObject({ kind: 'provisional' })
  expect(resolve(left(reported, 0))).toEqual(whole)
  expect(resolve({ kind: 'unreadable', reported, relayedTokens: 0 })).toEqual(whole)
})

test('a stream that counted only its prompt is charged for the prompt, and for its text by an estimate', () => {
  const reported = { ...NOTHING_REPORTED, usage: usage('0 out'), uncountedTokens: 25 }
  expect(resolve({ kind: 'completed', reported })).toEqual({
    kind: 'provisional',
    chargeMicros: 210,
    costUsd: null,
    generationId: null,
  })
})

describe('a client that leaves', () => {
  const chargeOf = (outcome: Outcome): Micros | null => {
    const resolution = resolve(outcome)
    return resolution.kind === 'provisional' ? resolution.chargeMicros : null
  }

  test('after some text is charged an estimate that no look-up will correct', () => {
    const resolution = resolve(left(NOTHING_REPORTED, 10))
    expect(resolution).toMatchObject({ kind: 'provisional', costUsd: null, generationId: null })
    expect(chargeOf(left(NOTHING_REPORTED, 20))).toBe(
      (chargeOf(left(NOTHING_REPORTED, 10)) ?? 0) + 42,
    )
  })

  test('after the counts of its prompt is charged the counts and the text', () => {
    // 100 in and 1 + 9 out: 140 micro-dollars with the fee of 5%.
    expect(chargeOf(left(PARTIAL, 9))).toBe(147)
  })

  test('is never charged more than the hold', () => {
    const outcome = left(PARTIAL, 1_000)
    expect(resolve(outcome, { grantedMicros: micros(100) })).toMatchObject({ chargeMicros: 100 })
  })

  test('before any text is charged for its prompt', () => {
    expect(chargeOf(left(NOTHING_REPORTED, 0))).toBe(105)
  })

  test('while the answer has no text is also charged 50 tokens for each second, up to the cap', () => {
    expect(chargeOf(left(NOTHING_REPORTED, 0, 2_000))).toBe(105 + 420)
    const call = callWith({ stream: true, textTokens: 100, outputCapTokens: 10 })
    const outcome = left(NOTHING_REPORTED, 0, 2_000)
    const grantedMicros = micros(1_000_000)
    const input = { outcome, call, offer: OFFER, tokenFactor: 1, grantedMicros, hasLookUps: false }
    expect(resolveOutcome(input)).toMatchObject({ chargeMicros: 105 + 42 })
  })

  test('before the headers is charged for the prompt if the request was sent, because it may run', () => {
    const gone = { kind: 'clientGone', reported: NOTHING_REPORTED, relayedTokens: 0 } as const
    expect(resolve({ ...gone, stage: 'beforeHeaders' })).toMatchObject({ chargeMicros: 105 })
    expect(resolve({ ...gone, stage: 'notWritten' })).toEqual({ kind: 'released' })
  })
})

test.each(['lost', 'timedOut'] as const)(
  'a stream that is %s without its last counts costs nothing, and its hold is released at once',
  (kind) => {
    for (const stage of ['beforeHeaders', 'afterHeaders'] as const) {
      for (const reported of [NOTHING_REPORTED, PARTIAL]) {
        expect(resolve({ kind, stage, reported })).toEqual({ kind: 'released' })
      }
    }
  },
)

test.each(['lost', 'timedOut'] as const)('a whole answer that is %s is unresolved', (kind) => {
  const outcome: Outcome = { kind, stage: 'afterHeaders', reported: PARTIAL }
  expect(resolve(outcome, { stream: false })).toEqual(UNRESOLVED)
})

describe('an answer that becomes unreadable', () => {
  test('is unresolved if its client received nothing, or all counts', () => {
    expect(resolve({ kind: 'unreadable', reported: NOTHING_REPORTED })).toEqual(UNRESOLVED)
    expect(resolve({ kind: 'unreadable', reported: PARTIAL })).toEqual(UNRESOLVED)
    expect(resolve({ kind: 'unreadable', reported: COUNTED })).toMatchObject(FINAL)
  })

  test('is charged for the text that its client received, within the hold', () => {
    const unreadable = {
      kind: 'unreadable',
      reported: NOTHING_REPORTED,
      relayedTokens: 25,
    } as const
    const estimate = { kind: 'provisional', costUsd: null, generationId: null }
    expect(resolve(unreadable)).toEqual({ ...estimate, chargeMicros: 210 })
    expect(resolve({ ...unreadable, reported: PARTIAL })).toEqual({
      ...estimate,
      chargeMicros: 214,
    })
    const grantedMicros = micros(7)
    expect(resolve(unreadable, { grantedMicros })).toMatchObject({ chargeMicros: 7 })
    expect(resolve({ ...unreadable, reported: COUNTED })).toMatchObject(FINAL)
  })
})

test('an error without counts costs nothing', () => {
  expect(resolve({ kind: 'failed', reported: NOTHING_REPORTED })).toEqual({ kind: 'released' })
  expect(resolve({ kind: 'failed', reported: PARTIAL })).toEqual({ kind: 'released' })
})
