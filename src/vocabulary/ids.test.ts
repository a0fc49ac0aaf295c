import { randomFillSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createIdSource, firstIdOf } from './ids.ts'

/** A source at a moment that the test sets, with random bytes that it chooses. */
function sourceAt(
  timeMs: number,
  fillRandom = (bytes: Uint8Array): unknown => randomFillSync(bytes),
) {
  const clock = { timeMs, nowMs: () => clock.timeMs }
  return { clock, ids: createIdSource({ clock, fillRandom: (bytes) => void fillRandom(bytes) }) }
}

const moments = fc.integer({ min: 0, max: 2 ** 48 })

describe('an id', () => {
  test('is its prefix, ten characters of time and sixteen of randomness', () => {
    const { ids } = sourceAt(32 ** 3 + 31, (bytes) => bytes.fill(0xff))
    expect(ids.next('req')).toBe(`req_000000100z${'z'.repeat(16)}`)
    expect(ids.next('acct')).toBe(`acct_000000100z${'z'.repeat(16)}`)
  })

  test('has no character that looks like another', () => {
    const { ids } = sourceAt(Date.UTC(2030, 0, 1))
    for (let i = 0; i < 1_000; i++) expect(ids.next('key')).toMatch(/^key_[0-9a-hjkmnp-tv-z]{26}$/)
  })

  test('is never made twice in one millisecond', () => {
    const { ids } = sourceAt(1)
    const made = new Set(Array.from({ length: 10_000 }, () => ids.next('act')))
    expect(made.size).toBe(10_000)
  })

  test('of a later millisecond sorts later', () => {
    fc.assert(
      fc.property(moments, moments, (a, b) => {
        fc.pre(a < b)
        const { clock, ids } = sourceAt(a)
        const earlier = ids.next('req')
        clock.timeMs = b
        expect(ids.next('req') > earlier).toBe(true)
      }),
    )
  })

  test('takes each random byte once', () => {
    let filled = 0
    const { ids } = sourceAt(1, (bytes) => {
      filled += 1
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(i / 16) % 32
    })
    const random = Array.from({ length: 32 }, () => ids.next('req').slice(-16))
    expect(new Set(random).size).toBe(32)
    expect(filled).toBe(1)
    for (let i = 32; i < 257; i++) ids.next('req')
    expect(filled).toBe(2)
  })

  test('uses all 32 characters evenly', () => {
    const { ids } = sourceAt(1, (bytes) => {
      for (let i = 0; i < bytes.length; i++) bytes[i] = i % 256
    })
    const text = Array.from({ length: 256 }, () => ids.next('req').slice(-16)).join('')
    const counts = Map.groupBy(text, (character) => character)
    expect([...counts.values()].map((all) => all.length)).toEqual(
      Array.from({ length: 32 }, () => 128),
    )
  })
})

describe('the first id of a moment', () => {
  test('separates earlier IDs from IDs of the moment and later', () => {
    fc.assert(
      fc.property(moments, moments, (madeAtMs, timeMs) => {
        const id = sourceAt(madeAtMs).ids.next('req')
        expect(id > firstIdOf({ prefix: 'req', timeMs })).toBe(madeAtMs >= timeMs)
      }),
    )
  })

  test('of a moment before the epoch is before every id', () => {
    expect(sourceAt(0).ids.next('req') > firstIdOf({ prefix: 'req', timeMs: -1 })).toBe(true)
  })
})
