import { useParams } from '@tanstack/react-router'
import {
  type DateRange,
  monthStart,
  spanOf,
  type TimeSpan,
} from '../../src/vocabulary/date-range.ts'
import { currentMs } from '../api/clock.ts'
import { useWatchedAccount } from './account-bands.tsx'

// Thirteen months are at most 397 days: reports and charts have at most 400.
const MONTHS_BEFORE_MAX = 12

/** How a range becomes a span on the pages of operators: all time begins a year ago. */
export function operatorSpanOf(range: DateRange): TimeSpan {
  const nowMs = currentMs()
  return spanOf(range, { nowMs, firstMs: monthStart(nowMs, -MONTHS_BEFORE_MAX) })
}

/**
 * How a range becomes a span on the pages of an account: all time begins with it, or a year ago. On those of operators
 * that belong to no account it begins a year ago.
 */
export function useSpanOf(): (range: DateRange) => TimeSpan {
  const { account: accountId = null } = useParams({ strict: false })
  const account = useWatchedAccount(accountId)
  if (accountId === null) return operatorSpanOf
  return (range) => {
    const nowMs = currentMs()
    const createdMs = account === undefined ? nowMs : Date.parse(account.created_at)
    return spanOf(range, {
      nowMs,
      firstMs: Math.max(createdMs, monthStart(nowMs, -MONTHS_BEFORE_MAX)),
    })
  }
}
