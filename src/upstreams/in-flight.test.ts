import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type CallPlace, InFlight } from './in-flight.ts'

const STAYS = new AbortController().signal

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Takes a place that must be free. */
function takeNow(calls: InFlight, apiKeyId = 'key_1'): CallPlace {
  const place = calls.take(apiKeyId, STAYS)
  if (place instanceof Promise) throw new Error('there is no free place')
  return place
}

describe('the calls of an upstream', () => {
  test('run at once up to the limit, and then wait for a place', async () => {
    const calls = new InFlight({ inFlightMax: 2, queueTimeoutMs: 1_000 })
    const first = takeNow(calls)
    takeNow(calls)
    const third = calls.take('key_1', STAYS)
    expect(third).toBeInstanceOf(Promise)
    expect([calls.inFlight, calls.waiting]).toEqual([2, 1])
    first.leave()
    first.leave()
    const place = await third
    expect([calls.inFlight, calls.waiting]).toEqual([2, 0])
    place.leave()
    expect(calls.inFlight).toBe(1)
  })

  test('go in the order in which they came, keys in turns', async () => {
    const calls = new InFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    const order: string[] = []
    let current = takeNow(calls)
    for (const [name, key] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['a3', 'a'],
      ['b1', 'b'],
      ['c1', 'c'],
      ['b2', 'b'],
    ] as const) {
      void Promise.resolve(calls.take(key, STAYS)).then((place) => {
        order.push(name)
        current = place
      })
    }
    for (let i = 0; i < 6; i++) {
      current.leave()
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  test('are refused once too many wait, of one key and of all, and say when to come back', () => {
    const calls = new InFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    takeNow(calls)
    const wait = (key: string): void => void Promise.resolve(calls.take(key, STAYS)).catch(() => {})
    for (let i = 0; i < 64; i++) wait('greedy')
    expect(() => calls.take('greedy', STAYS)).toThrow(
      expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
    )
    for (let i = 0; i < 192; i++) wait(`key_${i}`)
    expect(calls.waiting).toBe(256)
    expect(() => calls.take('another', STAYS)).toThrow(/too many requests/)
  })

  test('wait no longer than the limit', async () => {
    const calls = new InFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    const place = takeNow(calls)
    const late = expect(calls.take('key_1', STAYS)).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfterSeconds: 1,
    })
    await vi.advanceTimersByTimeAsync(1_000)
    await late
    expect([calls.inFlight, calls.waiting]).toEqual([1, 0])
    place.leave()
    expect(calls.inFlight).toBe(0)
  })

  test('that are left by their client leave the queue, and take no place', async () => {
    const calls = new InFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    const place = takeNow(calls)
    const leaving = new AbortController()
    const left = expect(calls.take('key_1', leaving.signal)).rejects.toThrow('gone')
    const next = calls.take('key_1', STAYS)
    leaving.abort(new Error('gone'))
    await left
    expect(calls.waiting).toBe(1)
    place.leave()
    await next
    expect([calls.inFlight, calls.waiting]).toEqual([1, 0])
  })
})
