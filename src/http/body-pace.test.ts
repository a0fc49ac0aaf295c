import { expect, test } from 'vitest'
import { BodyPace } from './read-body.ts'

const KIB = 1024

interface Sent {
  /** Bytes of each second. */
  readonly bytesBySecond: readonly number[]
  /** From which second on half of the budget is taken; default never. */
  readonly crowdedFrom?: number
}

/** The second in which a body is found too slow; null: in none. */
function foundSlowAt({ bytesBySecond, crowdedFrom = Infinity }: Sent): number | null {
  let came = 5_000
  const pace = new BodyPace(came)
  for (const [index, bytes] of bytesBySecond.entries()) {
    came += bytes
    const second = index + 1
    if (pace.isTooSlow(came, { isCrowded: second >= crowdedFrom })) return second
  }
  return null
}

const seconds = (count: number, bytes: number): number[] => Array(count).fill(bytes)

test.each<[string, Sent, number | null]>([
  ['8 KB a second', { bytesBySecond: seconds(300, 8 * KIB) }, null],
  ['a byte less', { bytesBySecond: seconds(300, 8 * KIB - 1) }, 30],
  ['nothing at all', { bytesBySecond: seconds(300, 0) }, 30],
  ['all at once, and then nothing', { bytesBySecond: [1_000 * KIB, ...seconds(99, 0)] }, 31],
  ['240 KB every thirtieth second', { bytesBySecond: [...seconds(29, 0), 240 * KIB] }, null],
  [
    '20 KB a second while memory is short',
    { bytesBySecond: seconds(99, 20 * KIB), crowdedFrom: 1 },
    null,
  ],
  [
    'a byte less while memory is short',
    { bytesBySecond: seconds(99, 20 * KIB - 1), crowdedFrom: 1 },
    5,
  ],
  [
    '8 KB a second when memory gets short',
    { bytesBySecond: seconds(99, 8 * KIB), crowdedFrom: 17 },
    17,
  ],
])('%s', (_, sent, expected) => {
  expect(foundSlowAt(sent)).toBe(expected)
})
