import { afterEach, expect, test, vi } from 'vitest'
import { HOUR_MS } from '../../src/vocabulary/clock.ts'
import { currentMs, learnClock } from './clock.ts'

const NOW = Date.parse('2026-11-27T12:00:00.000Z')

const answeredAt = (serverMs: number) => ({
  headers: new Headers({ date: new Date(serverMs).toUTCString() }),
})

afterEach(() => {
  learnClock(answeredAt(Date.now()), Date.now())
  vi.useRealTimers()
})

test.each([-26, -3, 3, 26])(
  'the time is that of the gateway if the clock of the browser is %i hours off',
  (hours) => {
    vi.useFakeTimers({ now: NOW + hours * HOUR_MS, toFake: ['Date'] })
    learnClock(answeredAt(NOW), Date.now())
    expect(currentMs()).toBe(NOW)
  },
)

test('a difference of some seconds is left, and so is that of an answer which took long or has no time', () => {
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
  learnClock(answeredAt(NOW + 40_000), Date.now())
  expect(currentMs()).toBe(NOW)
  learnClock(answeredAt(NOW - HOUR_MS), NOW - HOUR_MS)
  expect(currentMs()).toBe(NOW)
  learnClock({ headers: new Headers() }, Date.now())
  expect(currentMs()).toBe(NOW)
})
