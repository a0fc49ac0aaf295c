import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openInFlight } from './upstream.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the calls of an upstream', () => {
  test('are refused if too many wait, of one key or of all, with the time to retry', () => {
    const calls = openInFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    void calls.take({ owner: 'key_1' })
    const wait = (owner: string): void =>
      void Promise.resolve(calls.take({ owner })).catch(() => {})
    for (let i = 0; i < 64; i++) wait('greedy')
    expect(() => calls.take({ owner: 'greedy' })).toThrow(
      expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
    )
    for (let i = 0; i < 192; i++) wait(`key_${i}`)
    expect(calls.waiting).toBe(256)
    expect(() => calls.take({ owner: 'another' })).toThrow(/too many requests/)
  })

  test('wait no longer than the limit, and are then refused with the time to retry', async () => {
    const calls = openInFlight({ inFlightMax: 1, queueTimeoutMs: 1_000 })
    void calls.take({ owner: 'key_1' })
    const late = expect(calls.take({ owner: 'key_1' })).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfterSeconds: 1,
    })
    await vi.advanceTimersByTimeAsync(1_000)
    await late
    expect([calls.taken, calls.waiting]).toEqual([1, 0])
  })
})
