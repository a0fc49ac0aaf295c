import { expect, test } from 'vitest'
import { survivalText } from './survives.ts'

test.each([
  [0, '; no charge of the last 6 s survives'],
  [1, '; a charge survives after 5.5 s'],
  [2, '; a charge survives after 3 s'],
  [3, '; a charge survives after 0.002 s'],
  [4, '; a charge survives after 0.002 s'],
])(
  'of charges 5.5 s, 3 s and 2 ms before a crash, %i that survive are the oldest',
  (count, words) => {
    expect(survivalText([5.5, 3, 0.002], count).words).toBe(words)
  },
)
