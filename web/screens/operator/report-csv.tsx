import { dateOf, type TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { hrefOf } from '../../api/calls.ts'
import { momentsOf } from '../../api/queries.ts'
import { Icon } from '../../parts/icon.tsx'
import type { Group } from './margin-search.ts'

interface ReportCsvProps {
  readonly span: TimeSpan
  readonly by: Group
}

/** Leads to the report of all accounts as CSV. */
export function ReportCsv({ span, by }: ReportCsvProps) {
  const href = hrefOf('operator', 'getAllUsage', { ...momentsOf(span), by, format: 'csv' })
  return (
    <a className="btn" href={href} download={`usage-${dateOf(span.fromMs)}-by-${by}.csv`}>
      <Icon name="download" small />
      CSV
    </a>
  )
}
