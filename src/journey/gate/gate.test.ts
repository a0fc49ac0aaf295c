import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../../vocabulary/problem.ts'
import { createGate, type Gate, type GateCaller, type GateSettings, type GateSlot } from './gate.ts'

const SETTINGS: GateSettings = {
  inFlightMax: 8,
  requestsPerMinuteMax: 300,
  unbackedRequestsPerMinuteMax: 20,
}
const START_MS = 1_790_000_000_000

function openGate(settings: GateSettings = SETTINGS) {
  const clock = { now: START_MS, nowMs: () => clock.now }
  return { gate: createGate({ clock, settings }), clock }
}

const backed = (apiKeyId: string): GateCaller => ({
  accountId: 'acct_b',
  apiKeyId,
  hasBackedCredit: true,
})
const unbacked = (apiKeyId: string): GateCaller => ({
  accountId: 'acct_u',
  apiKeyId,
  hasBackedCredit: false,
})

/** The problem of an entry that is refused. */
function refusalOf(enter: () => unknown): Problem {
  try {
    enter()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('the request was let in')
}

/** Sends requests that are refused after they were read, one after the other. */
function enterAndFail(gate: Gate, { caller, times }: { caller: GateCaller; times: number }): void {
  for (let i = 0; i < times; i++) gate.enter(caller).leave()
}

describe('places in flight', () => {
  test('are eight a key: the ninth is refused, and let in as soon as one has left', () => {
    const { gate } = openGate()
    const slots = Array.from({ length: 8 }, () => gate.enter(backed('key_1')))
    expect(refusalOf(() => gate.enter(backed('key_1'))).code).toBe('too_many_concurrent_requests')
    slots[3]?.leave()
    gate.enter(backed('key_1'))
    expect(refusalOf(() => gate.enter(backed('key_1'))).code).toBe('too_many_concurrent_requests')
  })

  test('of one key are not those of another of the same account', () => {
    const { gate } = openGate()
    for (let i = 0; i < 8; i++) gate.enter(backed('key_1'))
    expect(() => gate.enter(backed('key_2'))).not.toThrow()
  })

  test('are given back once, however often a request leaves', () => {
    const { gate } = openGate()
    const [first] = Array.from({ length: 8 }, () => gate.enter(backed('key_1')))
    for (let i = 0; i < 3; i++) first?.leave()
    gate.enter(backed('key_1'))
    expect(refusalOf(() => gate.enter(backed('key_1'))).code).toBe('too_many_concurrent_requests')
  })

  test('are not taken by a request that is refused', () => {
    const { gate } = openGate()
    const slots = Array.from({ length: 8 }, () => gate.enter(backed('key_1')))
    for (let i = 0; i < 20; i++) refusalOf(() => gate.enter(backed('key_1')))
    for (const slot of slots) slot.leave()
    expect(() => Array.from({ length: 8 }, () => gate.enter(backed('key_1')))).not.toThrow()
  })

  test('are kept through minutes without another request', () => {
    const { gate, clock } = openGate()
    for (let i = 0; i < 8; i++) gate.enter(backed('key_1')).admitted()
    for (let minute = 0; minute < 10; minute++) {
      clock.now += 60_000
      enterAndFail(gate, { caller: backed('key_other'), times: 1 })
    }
    expect(refusalOf(() => gate.enter(backed('key_1'))).code).toBe('too_many_concurrent_requests')
  })
})

describe('calls that are read on without their clients', () => {
  test('give their places back, and are 16 a key', () => {
    const { gate } = openGate()
    const slots: GateSlot[] = []
    for (let left = 0; left < 16; left++) {
      const slot = gate.enter(backed('key_1'))
      expect(slot.readOn()).toBe(true)
      slots.push(slot)
    }
    const next = gate.enter(backed('key_1'))
    expect(next.readOn()).toBe(false)
    next.leave()
    const other = gate.enter(backed('key_2'))
    expect(other.readOn()).toBe(true)
    slots[0]?.leave()
    slots[0]?.leave()
    expect(gate.enter(backed('key_1')).readOn()).toBe(true)
    expect(gate.enter(backed('key_1')).readOn()).toBe(false)
  })

  test('are 512 in all, of however many keys', () => {
    const { gate } = openGate()
    const slots = Array.from({ length: 513 }, (_, key) => gate.enter(backed(`key_${key}`)))
    expect(slots.map((slot) => slot.readOn())).toEqual([...Array(512).fill(true), false])
    slots[7]?.leave()
    expect(gate.enter(backed('key_1000')).readOn()).toBe(true)
  })
})

describe('requests that are never admitted', () => {
  test('are 300 in a minute on a key: one more is refused, with the true time to wait', () => {
    const { gate, clock } = openGate()
    enterAndFail(gate, { caller: backed('key_1'), times: 100 })
    clock.now += 10_500
    enterAndFail(gate, { caller: backed('key_1'), times: 200 })
    const refused = refusalOf(() => gate.enter(backed('key_1')))
    expect([refused.code, refused.retryAfterSeconds]).toEqual(['rate_limited', 50])
    clock.now += 49_000
    expect(refusalOf(() => gate.enter(backed('key_1'))).retryAfterSeconds).toBe(1)
    clock.now += 1_000
    expect(() => gate.enter(backed('key_1'))).not.toThrow()
  })

  test('count no more where they are refused for being too many, so that a key that never stops has its 300', () => {
    const { gate, clock } = openGate()
    let letIn = 0
    for (let second = 0; second < 120; second++) {
      for (let i = 0; i < 100; i++) {
        try {
          gate.enter(backed('key_1')).leave()
          letIn++
        } catch (error) {
          expect(error).toMatchObject({
            code: 'rate_limited',
            retryAfterSeconds: 60 - (second % 60),
          })
        }
      }
      clock.now += 1_000
    }
    expect(letIn).toBe(600)
  })

  test('are 20 in a minute on all keys of an account without backed credit together', () => {
    const { gate } = openGate()
    enterAndFail(gate, { caller: unbacked('key_1'), times: 12 })
    enterAndFail(gate, { caller: unbacked('key_2'), times: 8 })
    const refused = refusalOf(() => gate.enter(unbacked('key_3')))
    expect([refused.code, refused.retryAfterSeconds]).toEqual(['rate_limited', 60])
    expect(refused.message).toContain('More than 20 requests')
  })

  test('stop counting for the account with its first backed credit', () => {
    const { gate } = openGate()
    enterAndFail(gate, { caller: unbacked('key_1'), times: 20 })
    refusalOf(() => gate.enter(unbacked('key_1')))
    expect(() => gate.enter({ ...unbacked('key_1'), hasBackedCredit: true })).not.toThrow()
  })

  test('say the longer of two waits', () => {
    const { gate, clock } = openGate({ ...SETTINGS, requestsPerMinuteMax: 5 })
    enterAndFail(gate, { caller: unbacked('key_1'), times: 5 })
    clock.now += 20_000
    enterAndFail(gate, { caller: unbacked('key_2'), times: 5 })
    enterAndFail(gate, { caller: unbacked('key_3'), times: 5 })
    enterAndFail(gate, { caller: unbacked('key_4'), times: 5 })
    const refused = refusalOf(() => gate.enter(unbacked('key_4')))
    expect(refused.retryAfterSeconds).toBe(60)
    expect(refused.message).toContain('on this API key')
  })
})

describe('requests that are admitted', () => {
  test('count with those that are not: the 301st is refused, whatever became of the 300', () => {
    const { gate } = openGate()
    for (let i = 0; i < 150; i++) {
      const slot = gate.enter(backed('key_1'))
      slot.admitted()
      slot.leave()
    }
    enterAndFail(gate, { caller: backed('key_1'), times: 150 })
    expect(refusalOf(() => gate.enter(backed('key_1'))).code).toBe('rate_limited')
  })

  test('count from the second in which they were, as in the ledger', () => {
    const { gate, clock } = openGate({ ...SETTINGS, requestsPerMinuteMax: 1 })
    const slot = gate.enter(unbacked('key_1'))
    clock.now += 30_000
    for (let i = 0; i < 5; i++) slot.admitted()
    slot.leave()
    clock.now += 59_000
    expect(refusalOf(() => gate.enter(unbacked('key_1'))).retryAfterSeconds).toBe(1)
    clock.now += 1_000
    expect(() => gate.enter(unbacked('key_1'))).not.toThrow()
  })

  test('count once, also where they are admitted after their minute', () => {
    const { gate, clock } = openGate({ ...SETTINGS, requestsPerMinuteMax: 2 })
    const slot = gate.enter(backed('key_1'))
    clock.now += 90_000
    slot.admitted()
    gate.enter(backed('key_1'))
    expect(refusalOf(() => gate.enter(backed('key_1'))).retryAfterSeconds).toBe(60)
  })
})

describe('the clock', () => {
  test('set back by an hour keeps nobody waiting for it to come again', () => {
    const { gate, clock } = openGate()
    clock.now += 3_600_000
    enterAndFail(gate, { caller: backed('key_1'), times: 300 })
    clock.now -= 3_600_000
    const wait = refusalOf(() => gate.enter(backed('key_1'))).retryAfterSeconds
    expect(wait).toBe(60)
    clock.now += 60_000
    expect(() => gate.enter(backed('key_1'))).not.toThrow()
  })
})

test('keys and accounts that are idle are forgotten, those that wait or run are not', () => {
  const { gate, clock } = openGate()
  const running = gate.enter(unbacked('key_running'))
  running.admitted()
  for (let i = 0; i < 1_000; i++) gate.enter(backed(`key_${i}`)).leave()
  expect(gate.remembered).toBe(1_000 + 2)
  clock.now += 60_000
  gate.enter(backed('key_next')).leave()
  expect(gate.remembered).toBe(1 + 2)
  running.leave()
  clock.now += 120_000
  gate.enter(backed('key_last')).leave()
  expect(gate.remembered).toBe(1)
})

describe('whatever comes in whatever order', () => {
  type Step =
    | { readonly kind: 'enter'; readonly apiKey: number; readonly isBacked: boolean }
    | { readonly kind: 'admitted' | 'leave'; readonly pick: number }
    | { readonly kind: 'pass'; readonly ms: number }

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('enter' as const),
        apiKey: fc.nat(2),
        isBacked: fc.boolean(),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constantFrom('admitted' as const, 'leave' as const),
        pick: fc.nat(50),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.oneof(fc.nat(2_000), fc.nat(70_000)),
      }),
    },
  )

  interface Entered {
    readonly slot: GateSlot
    readonly apiKey: number
    inFlight: boolean
  }
  interface Counted {
    readonly apiKey: number
    readonly isBacked: boolean
    second: number
    admitted: boolean
  }

  test('the gate lets in and refuses as its rules say, read from the whole history', () => {
    const settings: GateSettings = {
      inFlightMax: 2,
      requestsPerMinuteMax: 5,
      unbackedRequestsPerMinuteMax: 7,
    }
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const { gate, clock } = openGate(settings)
        const entered: Entered[] = []
        const history: Counted[] = []
        const countedOf: Counted[] = []
        for (const each of steps) {
          if (each.kind === 'pass') clock.now += each.ms
          else if (each.kind === 'enter') {
            const second = Math.floor(clock.now / 1_000)
            const counted = {
              apiKey: each.apiKey,
              isBacked: each.isBacked,
              second,
              admitted: false,
            }
            const waiting = (at: number) => {
              const recent = history.filter((past) => past.second > at - 60)
              const key = recent.filter((past) => past.apiKey === each.apiKey).length
              const account = each.isBacked ? 0 : recent.filter((past) => !past.isBacked).length
              return key >= 5 || (!each.isBacked && account >= 7)
            }
            const inFlight = entered.filter(
              (past) => past.apiKey === each.apiKey && past.inFlight,
            ).length
            const caller = each.isBacked
              ? backed(`key_${each.apiKey}`)
              : unbacked(`key_${each.apiKey}`)
            if (waiting(second)) {
              const { code, retryAfterSeconds } = refusalOf(() => gate.enter(caller))
              expect(code).toBe('rate_limited')
              let wait = 1
              while (waiting(second + wait)) wait++
              expect(retryAfterSeconds).toBe(wait)
              continue
            }
            history.push(counted)
            if (inFlight >= 2) {
              expect(refusalOf(() => gate.enter(caller)).code).toBe('too_many_concurrent_requests')
            } else {
              entered.push({ slot: gate.enter(caller), apiKey: each.apiKey, inFlight: true })
              countedOf.push(counted)
            }
          } else {
            const at = each.pick % (entered.length || 1)
            const [one, counted] = [entered[at], countedOf[at]]
            if (one === undefined || counted === undefined) continue
            one.slot[each.kind]()
            if (each.kind === 'leave') one.inFlight = false
            else if (!counted.admitted) {
              counted.admitted = true
              counted.second = Math.floor(clock.now / 1_000)
            }
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
