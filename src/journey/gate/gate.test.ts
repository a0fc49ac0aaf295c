import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../../vocabulary/problem.ts'
import { Gate, type GateCaller, type GateSettings, type GateSlot } from './gate.ts'

const SETTINGS: GateSettings = {
  inFlightMax: 8,
  requestsPerMinuteMax: 300,
  unbackedRequestsPerMinuteMax: 20,
}
const START_MS = 1_790_000_000_000

function openGate(settings: GateSettings = SETTINGS) {
  const clock = { now: START_MS, nowMs: () => clock.now }
  return { gate: new Gate({ clock, settings }), clock }
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

/** The problem of a refused entry. */
function refusalOf(enter: () => unknown): Problem {
  try {
    enter()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('the request was let in')
}

/** Sends requests, one after the other, that fail after they were read. */
function enterAndFail(gate: Gate, { caller, times }: { caller: GateCaller; times: number }): void {
  for (let i = 0; i < times; i++) gate.enter(caller).leave()
}

describe('places in flight', () => {
  test('are kept through minutes without a request', () => {
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
  test('free their places, and are at most 16 for each key, however long they last', () => {
    const { gate, clock } = openGate()
    const slots: GateSlot[] = []
    for (let left = 0; left < 16; left++) {
      const slot = gate.enter(backed('key_1'))
      expect(slot.readOn()).toBe(true)
      slots.push(slot)
    }
    clock.now += 120_000
    gate.enter(backed('key_2')).leave()
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

  test('are at most 512 for all keys together', () => {
    const { gate } = openGate()
    const slots = Array.from({ length: 513 }, (_, key) => gate.enter(backed(`key_${key}`)))
    expect(slots.map((slot) => slot.readOn())).toEqual([...Array(512).fill(true), false])
    slots[7]?.leave()
    expect(gate.enter(backed('key_1000')).readOn()).toBe(true)
  })
})

describe('requests that are not admitted', () => {
  test('are 20 in a minute for all keys together of an account without paid credit', () => {
    const { gate } = openGate()
    enterAndFail(gate, { caller: unbacked('key_1'), times: 12 })
    enterAndFail(gate, { caller: unbacked('key_2'), times: 8 })
    const refused = refusalOf(() => gate.enter(unbacked('key_3')))
    expect([refused.code, refused.retryAfterSeconds]).toEqual(['rate_limited', 60])
    expect(refused.message).toContain('More than 20 requests')
  })

  test('stop counting for the account once it has paid credit', () => {
    const { gate } = openGate()
    enterAndFail(gate, { caller: unbacked('key_1'), times: 20 })
    refusalOf(() => gate.enter(unbacked('key_1')))
    expect(() => gate.enter({ ...unbacked('key_1'), hasBackedCredit: true })).not.toThrow()
  })

  test('name the longer of two waits', () => {
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

describe('the clock', () => {
  test('set back by an hour does not make requests wait for that hour again', () => {
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

test('idle keys and accounts are dropped; those with requests are not', () => {
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

describe('any events in any order', () => {
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

  test('the gate admits and refuses exactly as its rules require for the whole history', () => {
    const settings: GateSettings = {
      inFlightMax: 2,
      requestsPerMinuteMax: 5,
      unbackedRequestsPerMinuteMax: 7,
    }
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
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
            // A request that has left can no longer be admitted.
            if (each.kind === 'admitted' && !one.inFlight) continue
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

describe('limits of a minute', () => {
  test('are reported with their remainder and the time of its next increase', () => {
    const { gate, clock } = openGate()
    const shownLimits = () => {
      const slot = gate.enter(backed('key_1'))
      slot.leave()
      return slot.rateLimits
    }
    expect(shownLimits()).toEqual([{ name: 'key', max: 300, remaining: 299, resetSeconds: 60 }])
    clock.now += 20_000
    expect(shownLimits()).toEqual([{ name: 'key', max: 300, remaining: 298, resetSeconds: 40 }])
  })
})
