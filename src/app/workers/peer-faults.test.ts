import { expect, test } from 'vitest'
import type { ReadinessCheck } from '../../http/health.ts'
import { faultsAmong, MAIN_THREAD, PeerFaults, withFaultsOfOthers } from './peer-faults.ts'
import { ToldOnce } from './told-once.ts'

const fault = (name: ReadinessCheck['name'], text: string): ReadinessCheck => ({
  name,
  fault: text,
})

test('each thread is told the faults of all but itself, and of none that has ended', () => {
  const faults = new PeerFaults()
  faults.set(MAIN_THREAD, [fault('prices', 'old')])
  faults.set(1, [fault('store', 'away from 1')])
  faults.set(2, [])
  expect(faults.besides(1)).toEqual([fault('prices', 'old')])
  expect(faults.besides(2)).toEqual([fault('prices', 'old'), fault('store', 'away from 1')])
  faults.forget(1)
  faults.set(MAIN_THREAD, [])
  expect(faults.besides(2)).toEqual([])
})

test("a check fails by a thread's own fault, or else by another's", () => {
  const own = [{ name: 'serving', fault: null } as const, fault('store', 'mine')]
  const faults = [fault('store', 'theirs'), fault('serving', 'one is missing')]
  expect(withFaultsOfOthers(own, { faults })).toEqual([
    fault('serving', 'one is missing'),
    fault('store', 'mine'),
  ])
  expect(faultsAmong(own)).toEqual([fault('store', 'mine')])
})

test('what was told is told again only once it has changed', () => {
  const told: string[][] = []
  const once = new ToldOnce<string[]>({ tell: (news) => told.push(news), first: [] })
  for (const news of [[], ['a'], ['a'], ['a', 'b'], []]) once.say(news)
  expect(told).toEqual([['a'], ['a', 'b'], []])
})
