import { dateOf, type TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { operatorReportPath } from '../../api/operator.ts'
import { Icon } from '../../parts/icon.tsx'
import type { Group } from './margin-search.ts'

interface ReportCsvProps {
  readonly span: TimeSpan
  readonly by: Group
}

/** Leads to the report of all accounts as CSV. */
export function ReportCsv({ span, by }: ReportCsvProps) {
  const path = operatorReportPath(span, { by, account: null })
  return (
    <a
      className="btn"
      href={`/app/api/${path}&format=csv`}
      download={`usage-${dateOf(span.fromMs)}-by-${by}.csv`}
    >
      <Icon name="download" small />
      CSV
    </a>
  )
}
