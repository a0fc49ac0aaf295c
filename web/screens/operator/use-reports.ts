import { useQuery } from '@tanstack/react-query'
import { type Comparison, comparedSpan, type TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { operatorReportQuery, type ReportInput, topUpsQuery } from '../../api/operator.ts'

/** A range and what it is compared with, for Home and for one account. */
interface ReportsInput extends ReportInput {
  readonly compare: Comparison
}

/** The report of a range and of the one that it is compared with, and the paid credit that came in. */
export function useReports(span: TimeSpan, { compare, ...input }: ReportsInput) {
  const earlier = comparedSpan(span, compare)
  const report = useQuery(operatorReportQuery(span, input))
  const before = useQuery(operatorReportQuery(earlier, input))
  const topUps = useQuery(topUpsQuery(span, input.account))
  const earlierTopUps = useQuery(topUpsQuery(earlier, input.account))
  return {
    report,
    before: before.data ?? null,
    /** In addition to the totals of the report. */
    figures: {
      before: before.data?.totals ?? null,
      topUps: { now: topUps.data, before: earlierTopUps.data },
    },
    /** The reads of these figures. */
    parts: {
      'The comparison': before,
      'The top-ups': topUps,
      'The earlier top-ups': earlierTopUps,
    },
  }
}
