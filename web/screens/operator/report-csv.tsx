import { useQuery } from '@tanstack/react-query'
import type { TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { hrefOf } from '../../api/calls.ts'
import { oneAccountQuery } from '../../api/operator.ts'
import { momentsOf } from '../../api/queries.ts'
import { csvName } from '../../format/csv-name.ts'
import { CsvLink } from '../../parts/buttons.tsx'
import type { MarginOrder } from './margin-order.ts'
import type { Group } from './margin-search.ts'

interface ReportCsvProps {
  readonly span: TimeSpan
  readonly by: Group
  /** Default: all accounts. */
  readonly account?: string | undefined
  /** The order of its rows. Default: that of the report. */
  readonly sort?: MarginOrder | undefined
}

/** Leads to the report of all accounts, or of one, as CSV. */
export function ReportCsv({ span, by, account, sort }: ReportCsvProps) {
  const moments = momentsOf(span)
  const asked = { ...oneAccountQuery(account ?? ''), refetchInterval: false } as const
  const { data } = useQuery({ ...asked, enabled: account !== undefined })
  const href = hrefOf('operator', 'getAllUsage', { ...moments, by, account, sort, format: 'csv' })
  const of = data?.name ?? account ?? 'all accounts'
  return <CsvLink href={href} name={csvName({ kind: 'usage', of, ...moments, by })} isSmall />
}
