import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openrouter } from './openrouter/openrouter.ts'
import { PATIENT_TIMEOUTS, upstreamSettings } from './testing/upstream-settings.ts'
import { Upstream } from './upstream.ts'

/** The calls of an upstream that has one at a time, for which others wait a second. */
function callsOfOne() {
  const timeouts = { ...PATIENT_TIMEOUTS, queueTimeoutMs: 1_000 }
  const settings = upstreamSettings({ baseUrl: 'http://127.0.0.1', inFlightMax: 1, timeouts })
  const { inFlight } = new Upstream(settings, openrouter)
  if (inFlight === null) throw new TypeError('the upstream has a limit')
  return inFlight
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the calls of an upstream', () => {
  test('are refused if too many wait, of one key or of all, with the time to retry', () => {
    const calls = callsOfOne()
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
    const calls = callsOfOne()
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
