import { expect, test } from 'vitest'
import { HeartbeatWatch } from './presence.ts'

const SECOND = 1_000

interface Look {
  /** In seconds, of the database. */
  readonly at: number
  /** In seconds, of this process; default the same. */
  readonly elapsedSeconds?: number
  readonly beats: Readonly<Record<string, number | null>>
}

/** The instances that a watch takes for dead at the last of these looks. */
function deadAfter(looks: readonly Look[], watch = new HeartbeatWatch()): readonly string[] {
  let dead: readonly string[] = []
  for (const { at, elapsedSeconds = at, beats } of looks) {
    dead = watch.see({
      databaseMs: at * SECOND,
      elapsedMs: elapsedSeconds * SECOND,
      heartbeats: new Map(Object.entries(beats)),
    })
  }
  return dead
}

/** Looks every five seconds, from one moment to another. */
function looks(from: number, to: number, beats: (at: number) => Look['beats']): Look[] {
  const seen: Look[] = []
  for (let at = from; at <= to; at += 5) seen.push({ at, beats: beats(at) })
  return seen
}

const still = () => ({ I: 7 })

test('an instance is dead once its heartbeat has stood still for 30 seconds, and not before', () => {
  expect(deadAfter(looks(0, 25, still))).toEqual([])
  expect(deadAfter(looks(0, 30, still))).toEqual(['I'])
})

test('the age of a heartbeat at the first look does not count', () => {
  expect(deadAfter([{ at: 1_000_000, beats: { I: 7 } }])).toEqual([])
})

test('an instance that beats is never dead, not even after hours', () => {
  expect(deadAfter(looks(0, 20_000, (at) => ({ I: at })))).toEqual([])
})

test('an instance that never had a heartbeat is dead after the same time', () => {
  expect(deadAfter(looks(0, 30, () => ({ I: null })))).toEqual(['I'])
})

test('each instance is watched separately', () => {
  expect(deadAfter(looks(0, 30, (at) => ({ I: 7, J: at, K: Math.min(at, 20) })))).toEqual(['I'])
})

test('one heartbeat in between restarts the watch', () => {
  const beats = (at: number) => ({ I: at < 25 ? 7 : 8 })
  expect(deadAfter(looks(0, 50, beats))).toEqual([])
  expect(deadAfter(looks(0, 55, beats))).toEqual(['I'])
})

test('after the database was away, the watch restarts, because no instance could write a heartbeat', () => {
  const watch = new HeartbeatWatch()
  expect(deadAfter(looks(0, 25, still), watch)).toEqual([])
  watch.lose()
  expect(deadAfter(looks(30, 55, still), watch)).toEqual([])
  expect(deadAfter(looks(60, 60, still), watch)).toEqual(['I'])
})

test('a gap between two looks on either clock restarts the watch', () => {
  expect(deadAfter([...looks(0, 15, still), ...looks(3_600, 3_625, still)])).toEqual([])
  const frozen = { at: 20, elapsedSeconds: 3_600, beats: still() }
  const later = { at: 45, elapsedSeconds: 3_610, beats: still() }
  expect(deadAfter([...looks(0, 15, still), frozen, later])).toEqual([])
})

test('a step of the database clock makes no instance dead', () => {
  const back = { at: 5, elapsedSeconds: 20, beats: still() }
  expect(deadAfter([...looks(10, 15, still), back])).toEqual([])
  const forward = { at: 100, elapsedSeconds: 20, beats: still() }
  expect(deadAfter([...looks(0, 15, still), forward])).toEqual([])
})
