import { expect, test } from 'vitest'
import { Outage } from './lookups.ts'

/** Fails a probe as soon as one may be asked, so many times; the waits between, in seconds. */
function waitsOf(outage: Outage, probes: number): number[] {
  const waits: number[] = []
  let nowMs = 0
  for (let probe = 0; probe < probes; probe++) {
    const askedAtMs = nowMs
    while (!outage.mayAsk(nowMs)) nowMs += 1_000
    waits.push((nowMs - askedAtMs) / 1_000)
    outage.failed({ round: outage.asked(), nowMs })
  }
  return waits
}

test('an upstream that answers is asked without pauses', () => {
  const outage = new Outage()
  for (let question = 0; question < 3; question++) outage.asked()
  outage.answered()
  expect(outage.mayAsk(0)).toBe(true)
})

test('an upstream that fails is asked after pauses that double, up to a minute', () => {
  const waits = waitsOf(new Outage(), 2_000)
  expect(waits.slice(0, 9)).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60])
  expect(waits.at(-1)).toBe(60)
})

test('look-ups that were running together count as one failure', () => {
  const outage = new Outage()
  const rounds = [outage.asked(), outage.asked(), outage.asked()]
  for (const round of rounds) outage.failed({ round, nowMs: 0 })
  expect([outage.mayAsk(999), outage.mayAsk(1_000)]).toEqual([false, true])
})

test('after a pause one look-up runs first, and the others wait for its answer', () => {
  const outage = new Outage()
  outage.failed({ round: outage.asked(), nowMs: 0 })
  const probe = outage.asked()
  expect(outage.mayAsk(5_000)).toBe(false)
  expect(outage.retryAtMs(5_000)).toBe(6_000)
  outage.failed({ round: probe, nowMs: 5_000 })
  expect(outage.retryAtMs(5_000)).toBe(7_000)
  expect([outage.mayAsk(6_999), outage.mayAsk(7_000)]).toEqual([false, true])
})

test('any answer ends the outage, and the next failure pauses as briefly as the first', () => {
  const outage = new Outage()
  waitsOf(outage, 20)
  outage.answered()
  expect(outage.mayAsk(0)).toBe(true)
  outage.failed({ round: outage.asked(), nowMs: 0 })
  expect(outage.mayAsk(1_000)).toBe(true)
})
