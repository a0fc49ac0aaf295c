import type { TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { hrefOf } from '../../api/calls.ts'
import { momentsOf } from '../../api/queries.ts'
import { csvName } from '../../format/csv-name.ts'
import { Icon } from '../../parts/icon.tsx'
import type { MarginOrder } from './margin-order.ts'
import type { Group } from './margin-search.ts'

interface ReportCsvProps {
  readonly span: TimeSpan
  readonly by: Group
  /** The order of its rows. Default: that of the report. */
  readonly sort?: MarginOrder | undefined
}

/** Leads to the report of all accounts as CSV. */
export function ReportCsv({ span, by, sort }: ReportCsvProps) {
  const moments = momentsOf(span)
  const href = hrefOf('operator', 'getAllUsage', { ...moments, by, sort, format: 'csv' })
  return (
    <a
      className="btn"
      href={href}
      download={csvName({ kind: 'usage', of: 'all accounts', ...moments, by })}
    >
      <Icon name="download" small />
      CSV
    </a>
  )
}
