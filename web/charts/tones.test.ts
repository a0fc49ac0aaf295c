import { expect, test } from 'vitest'
import { tonesOf } from './tones.ts'

test('a series keeps its colour while it is drawn at any place, and a new one gets a free colour', () => {
  const of = (...ids: string[]) => [...tonesOf('test', ids).values()]
  expect(of('a', 'b', 'c')).toEqual([1, 2, 3])
  expect(of('c', 'a', 'd')).toEqual([3, 1, 2])
  expect(of('e', 'd', 'f', 'g', 'h')).toEqual([1, 2, 3, 4, 6])
  expect(of('1', '2', '3', '4', '5', '6')).toEqual([1, 2, 3, 4, 6, 5])
  expect([...tonesOf('another grouping', ['b']).values()]).toEqual([1])
})
