import { expect, test } from 'vitest'
import { alertStep, stepsUpTo } from './about.ts'

test.each([
  { used: 0, step: null },
  { used: 749_999, step: null },
  { used: 750_000, step: 75 },
  { used: 899_999, step: 75 },
  { used: 900_000, step: 90 },
  { used: 999_999, step: 90 },
  { used: 1_000_000, step: 100 },
  { used: 5_000_000, step: 100 },
  { used: -1, step: null },
])('$used of 1,000,000 micro-dollars has reached $step', ({ used, step }) => {
  expect(alertStep(used, 1_000_000)).toBe(step)
})

test('a limit of one micro-dollar can be used up, and a missing or zero limit never is', () => {
  expect([alertStep(0, 1), alertStep(1, 1)]).toEqual([null, 100])
  expect([alertStep(1, 0), alertStep(1, null), alertStep(0, 0)]).toEqual([null, null, null])
})

test('a step includes the steps below it', () => {
  expect([stepsUpTo(75), stepsUpTo(90), stepsUpTo(100)]).toEqual([[75], [90, 75], [100, 90, 75]])
})
