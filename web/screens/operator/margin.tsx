import { usePrefetchQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import {
  COMPARISONS,
  comparedSpan,
  readDateRange,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import { operatorReportQuery, operatorUsageQuery } from '../../api/operator.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard } from '../../charts/chart.tsx'
import { money } from '../../format/money.ts'
import { Choose } from '../../parts/pick.tsx'
import { PickAccount } from '../../parts/pick-account.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Empty, PartsFailed } from '../../parts/states.tsx'
import { DEFAULT_RANGE, withRange } from '../../searches.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { operatorSpanOf } from '../../shell/use-span.ts'
import { MarginFigures } from './margin-figures.tsx'
import { GROUPS, type Group, type MarginSearch } from './margin-search.ts'
import { MarginTable } from './margin-table.tsx'
import { ReportCsv } from './report-csv.tsx'
import { UsageColumns } from './usage-columns.tsx'

const route = getRouteApi('/operator/usage')

/** The charges of all accounts or of one, the provider cost, and the margin. */
export function MarginScreen() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { by = 'account', account = null, compare = null } = search
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const span = operatorSpanOf(range)
  const report = useQuery(operatorReportQuery(span, { by, account }))
  // Asked for together with the figures, which decide whether it is shown.
  usePrefetchQuery(chartQuery(span, search))
  const before = useQuery({
    ...operatorReportQuery(compare === null ? span : comparedSpan(span, compare), {
      by,
      account,
    }),
    enabled: compare !== null,
  })
  const change = (next: MarginSearch) => void navigate({ search: next, resetScroll: false })
  const compared = compare === null ? null : (before.data ?? null)
  return (
    <>
      <ScreenTop title="Usage and margin">
        {/* Where there is no room for both next to the title, both go below it. */}
        <div className="flex flex-wrap gap-3">
          <RangePicker
            range={range}
            compare={compare}
            comparisons={[...COMPARISONS, null]}
            spanOf={operatorSpanOf}
            onChange={(picked) => change(withRange(search, picked))}
          />
          <ReportCsv span={span} by={by} account={search.account} sort={search.sort} />
        </div>
      </ScreenTop>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <div className="filters" role="group" aria-label="Filters">
        <Choose
          label="Group by"
          icon="usage"
          options={GROUPS.map(({ value, text }) => ({ value, text: `By ${text.toLowerCase()}` }))}
          value={by}
          onChange={(next) => change({ ...search, by: next as Group })}
        />
        <PickAccount
          accountId={search.account}
          onChange={(picked) =>
            change({
              ...search,
              account: picked,
              by: picked === undefined || by !== 'account' ? by : 'model',
            })
          }
        />
      </div>
      <Answer query={report} noun="usage report" grey={<GreyChartCard />}>
        {(shown) =>
          shown.totals.requests === 0 && shown.totals.cost === 0 ? (
            <section className="card">
              <Empty title="No requests in this period.">
                <p>Charges, provider cost and margin appear here.</p>
              </Empty>
            </section>
          ) : (
            <>
              <div className="mb-4 wide-stats">
                <MarginFigures
                  totals={shown.totals}
                  before={compared?.totals ?? null}
                  range={range}
                />
              </div>
              <PartsFailed parts={{ 'The comparison': before }} />
              <Columns span={span} search={search} />
              <MarginTable
                report={shown}
                before={compared}
                sort={{
                  order: search.sort,
                  onSort: (sort) => {
                    const { sort: _, ...rest } = search
                    change(sort === undefined ? rest : { ...rest, sort })
                  },
                }}
              />
            </>
          )
        }
      </Answer>
    </>
  )
}

const CHARTED = ['account', 'key', 'model', 'endpoint', 'upstream'] as const

function chartedBy({ by = 'account' }: MarginSearch) {
  return CHARTED.find((each) => each === by)
}

function chartQuery(span: TimeSpan, search: MarginSearch) {
  const { account, compare = null } = search
  return operatorUsageQuery(span, { by: chartedBy(search) ?? 'upstream', account, compare })
}

interface ColumnsProps {
  readonly span: TimeSpan
  readonly search: MarginSearch
}

/** Charges by time, by group; or what they are made of, where time or tags are the groups. */
function Columns({ span, search }: ColumnsProps) {
  const { by = 'account', compare = null } = search
  const query = useQuery(chartQuery(span, search))
  return (
    <UsageColumns
      query={query}
      span={span}
      compare={compare}
      by={by}
      account={search.account}
      isSplitByPart={chartedBy(search) === undefined}
    >
      {({ figures }) => <p className="note num">{money(figures.charge)} in total</p>}
    </UsageColumns>
  )
}
