import { describe, expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import { capForGrant, sizeHold } from './hold.ts'
import { PLAIN } from './testing/hold-table.ts'
import { callWith, offerWith } from './testing/offers.ts'

describe('the cap that a grant pays for', () => {
  const size = sizeHold(callWith(), PLAIN)

  test('is the whole cap if the whole need is granted', () => {
    expect(capForGrant(size, size.neededMicros)).toBe(8_000)
  })

  test('is 16 for the smallest grant', () => {
    expect(capForGrant(size, size.leastMicros)).toBe(16)
  })

  test('costs no more than the grant, and one more token would', () => {
    const cost = (cap: number) => Math.ceil((1_000 + cap * 2) * 1.05)
    for (
      let granted = size.leastMicros;
      granted < size.neededMicros;
      granted = micros(granted + 97)
    ) {
      const cap = capForGrant(size, granted) ?? 0
      expect(cost(cap)).toBeLessThanOrEqual(granted)
      expect(cost(cap + 1)).toBeGreaterThan(granted)
    }
  })

  test('leaves room for a budget of thinking that a server counts separately', () => {
    const thinking = sizeHold(callWith({ thinkingTokens: 3_000, completions: 2 }), PLAIN)
    expect(capForGrant(thinking, thinking.leastMicros)).toBe(16)
    for (const share of [0.1, 0.5, 0.9]) {
      const lowerable = thinking.neededMicros - thinking.leastMicros
      const granted = micros(thinking.leastMicros + Math.floor(lowerable * share))
      const cap = capForGrant(thinking, granted) ?? 0
      expect((1_000 + 2 * (cap + 3_000) * 2) * 1.05).toBeLessThanOrEqual(granted)
    }
  })

  test('is null if the body keeps its own', () => {
    const own = sizeHold(callWith({ outputCapTokens: 500 }), PLAIN)
    expect(capForGrant(own, own.neededMicros)).toBeNull()
    const messages = sizeHold(callWith({ endpoint: 'messages' }), PLAIN)
    expect(capForGrant(messages, micros(1))).toBeNull()
  })

  test('is the whole cap of a model that costs nothing', () => {
    const free = sizeHold(callWith(), offerWith({}))
    expect(free).toMatchObject({ neededMicros: 0, leastMicros: 0 })
    expect(capForGrant(free, micros(0))).toBe(8_000)
  })

  test('does not exist below the smallest grant', () => {
    expect(() => capForGrant(size, micros(size.leastMicros - 1))).toThrow(RangeError)
  })
})
