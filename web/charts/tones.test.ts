import { expect, test } from 'vitest'
import { tonesOf } from './tones.ts'

test('a series keeps its colour at any place and after a range without it, and a new one gets one that is free', () => {
  const of = (...ids: string[]) => [...tonesOf('test', ids).values()]
  expect(of('a', 'b', 'c')).toEqual([1, 2, 3])
  expect(of('c', 'a', 'd')).toEqual([3, 1, 4])
  expect(of('b')).toEqual([2])
  expect(of('a', 'b', 'c', 'd')).toEqual([1, 2, 3, 4])
  // One colour is free; the others are taken from what was not drawn for the longest time.
  expect(of('e', 'd', 'f', 'g')).toEqual([6, 4, 1, 2])
  expect(of('c', 'd')).toEqual([3, 4])
  expect(of('1', '2', '3', '4', '5', '6').toSorted()).toEqual([1, 2, 3, 4, 5, 6])
  expect([...tonesOf('another grouping', ['b']).values()]).toEqual([1])
})
