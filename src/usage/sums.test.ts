import { expect, test } from 'vitest'
import { addSums, NO_USAGE, subtractSums } from './sums.ts'

const sumsOf = (chargeMicros: number) => ({ ...NO_USAGE, backed_charge_micros: chargeMicros })

test('sums that can no longer be exact are refused, not rounded', () => {
  const most = sumsOf(Number.MAX_SAFE_INTEGER)
  expect(addSums(most, NO_USAGE)).toEqual(most)
  expect(() => addSums(most, sumsOf(2))).toThrow(RangeError)
  expect(() => subtractSums(sumsOf(-2), most)).toThrow(RangeError)
})
