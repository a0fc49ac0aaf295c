import { expect, test } from 'vitest'
import { HOUR_MS } from './clock.ts'
import { dailyPace, daysLeft, paidDaysLeft } from './pace.ts'

const NOW_MS = Date.parse('2026-11-10T12:00:00Z')

const pace = (chargeMicros: number, ageHours: number) =>
  dailyPace(chargeMicros, { sinceMs: NOW_MS - ageHours * HOUR_MS, nowMs: NOW_MS })

test('the rate is of today and the six UTC days before it, up to now', () => {
  expect(pace(650, 24 * 90)).toBe(100)
})

test('the rate of an account that was opened within them counts from its opening', () => {
  expect(pace(300, 72)).toBe(100)
  expect(pace(300, 24)).toBe(300)
})

test('an account of less than a day has no rate, and so no forecast', () => {
  expect(pace(300, 23)).toBe(null)
  expect(daysLeft(1_000, pace(300, 1))).toBe(null)
})

test('corrections that outweigh the charges are no rate below zero', () => {
  expect(pace(-5, 72)).toBe(0)
})

test('without paid credit there is no forecast of how long it lasts', () => {
  expect(paidDaysLeft(0, 100)).toBe(null)
  expect(paidDaysLeft(-5, 100)).toBe(null)
  expect(paidDaysLeft(250, 100)).toBe(2.5)
})

test('an amount from which nothing is spent has no end', () => {
  expect(daysLeft(1_000, 0)).toBe(null)
  expect(daysLeft(250, 100)).toBe(2.5)
})
