import { expect, test } from 'vitest'
import { HOUR_MS } from '../../../src/vocabulary/clock.ts'
import type { Statement } from '../../api/answers.ts'
import { balanceDays } from './balance-days.ts'

type Line = Statement['lines'][number]

const NOW_MS = Date.parse('2026-11-10T12:00:00Z')
const TIMES = { openedAtMs: Date.parse('2026-01-01T00:00:00Z'), nowMs: NOW_MS }

const line = (fields: Partial<Line>): Line => ({
  ...{ date: '2026-11-10', kind: 'charge', count: 1, amount: 0, balance: 0, purse: null },
  ...{ reference: null, request_id: null, expires_at: null, created_at: null, reversal: null },
  ...fields,
})

const statement = (from: string, to: string, lines: readonly Line[]): Statement => ({
  ...{ object: 'statement', account_id: 'acct_1', opening_balance: 100, closing_balance: 0 },
  ...{ from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z`, lines: [...lines] },
})

test('a day has the balance of its newest line, and a day without lines that of the day before', () => {
  const { balances, days, ahead } = balanceDays(
    statement('2026-11-01', '2026-11-05', [
      line({ date: '2026-11-03', amount: -20, balance: 130 }),
      line({ date: '2026-11-03', kind: 'top_up', amount: 50, balance: 150 }),
    ]),
    TIMES,
  )
  expect(days.map((at) => at.slice(8, 10))).toEqual(['01', '02', '03', '04'])
  expect(balances).toEqual([100, 100, 130, 130])
  expect(ahead).toEqual([])
})

test('top-ups of a day are one mark, and changes by operators are none', () => {
  const { topUps } = balanceDays(
    statement('2026-11-01', '2026-11-03', [
      line({ date: '2026-11-02', kind: 'purchase', amount: 30 }),
      line({ date: '2026-11-02', kind: 'activation', amount: 5 }),
      line({ date: '2026-11-02', kind: 'grant', amount: 7 }),
      line({ date: '2026-11-02', kind: 'chargeback', amount: -9 }),
    ]),
    TIMES,
  )
  expect(topUps).toEqual([{ at: 1, amountMicros: 35 }])
})

test('credit that comes or goes at once is a jump of its day; charges and their write-offs are not', () => {
  const { jumps } = balanceDays(
    statement('2026-11-01', '2026-11-04', [
      line({ date: '2026-11-03', kind: 'reversal', amount: -4 }),
      line({ date: '2026-11-03', kind: 'correction', amount: 2 }),
      line({ date: '2026-11-02', kind: 'charge', amount: -6 }),
      line({ date: '2026-11-02', kind: 'chargeback', amount: -9 }),
      line({ date: '2026-11-02', kind: 'top_up', amount: 30 }),
      line({ date: '2026-11-01', kind: 'write_off', amount: 6 }),
      line({ date: '2026-11-01', kind: 'charge', amount: -6 }),
    ]),
    TIMES,
  )
  expect([...jumps]).toEqual([
    [1, 21],
    [2, -4],
  ])
})

test('the rate is that of the last seven days, and never leads below zero', () => {
  const { balances, ahead, paceMicros } = balanceDays(
    statement('2026-11-03', '2026-11-11', [
      line({ date: '2026-11-10', amount: -7, balance: 30 }),
      line({ date: '2026-11-05', kind: 'correction', amount: -58, balance: 37 }),
      line({ date: '2026-11-03', amount: -70, balance: 93 }),
    ]),
    TIMES,
  )
  expect(paceMicros).toBe(10)
  expect(balances.slice(6)).toEqual([37, 30, ...Array(7).fill(null)])
  expect(ahead.slice(6)).toEqual([null, 30, 20, 10, 0, 0, 0, 0, 0])
})

test.each([
  ['ends before now', '2026-11-01', '2026-11-10'],
  ['is of less than seven days', '2026-11-05', '2026-11-11'],
])('a statement that %s has no rate', (_, from, to) => {
  expect(balanceDays(statement(from, to, [line({ amount: -7 })]), TIMES).paceMicros).toBe(null)
})

test.each([
  ['was an hour ago', NOW_MS - HOUR_MS],
  ['is not known yet', null],
])('an account whose opening %s has no rate', (_, openedAtMs) => {
  const lines = [line({ amount: -7, balance: 30 })]
  const known = statement('2026-11-03', '2026-11-11', lines)
  const { ahead, paceMicros } = balanceDays(known, { openedAtMs, nowMs: NOW_MS })
  expect({ ahead, paceMicros }).toEqual({ ahead: [], paceMicros: null })
})
