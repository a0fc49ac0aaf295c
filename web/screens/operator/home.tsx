import { usePrefetchQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import {
  COMPARISONS,
  type DateRange,
  readDateRange,
  searchOf,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import { operatorReportQuery, operatorUsageQuery } from '../../api/operator.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard } from '../../charts/chart.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Failed, PartsFailed } from '../../parts/states.tsx'
import { DEFAULT_RANGE, withRange } from '../../searches.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { operatorSpanOf } from '../../shell/use-span.ts'
import { GreyFigures } from '../overview/figures.tsx'
import { HomeUpstreams } from './home-upstreams.tsx'
import { MarginFigures } from './margin-figures.tsx'
import { HOME_SPLITS, type HomeSearch } from './margin-search.ts'
import { MarginTable } from './margin-table.tsx'
import { NeedsAttention } from './needs-attention.tsx'
import { ReportCsv } from './report-csv.tsx'
import { UsageColumns } from './usage-columns.tsx'
import { useReports } from './use-reports.ts'

const route = getRouteApi('/operator/')

/** The gateway at a glance: what was charged, what it cost, who used it, and what needs attention. */
export function HomeScreen() {
  const search = route.useSearch()
  const { compare = 'before' } = search
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const span = operatorSpanOf(range)
  const asked = { by: 'account', account: null, compare } as const
  const { report, figures, parts } = useReports(span, asked)
  // Asked for together with the figures, which decide whether it is shown.
  usePrefetchQuery(chartQuery(span, search))
  return (
    <>
      <Top range={range} span={span} search={search} />
      <Answer query={report} noun="figures" grey={<GreyHome />}>
        {(shown) =>
          shown.totals.requests === 0 && shown.totals.cost === 0 ? (
            <NoRequests />
          ) : (
            <>
              <div className="mb-4 wide-stats">
                <MarginFigures totals={shown.totals} {...figures} range={range} />
              </div>
              <PartsFailed parts={parts} />
              <Columns span={span} search={search} />
            </>
          )
        }
      </Answer>
      <div className="cols home">
        <div className="stack">
          {report.data !== undefined && report.data.totals.requests > 0 && (
            <MarginTable
              report={report.data}
              columns={['requests', 'charged', 'cost', 'margin']}
              rowsMax={6}
              header={
                <header className="pb-2">
                  <h2>Top accounts</h2>
                  <Link to="/operator/usage" search={searchOf(range)}>
                    All accounts
                  </Link>
                </header>
              }
            />
          )}
          <HomeUpstreams span={span} />
        </div>
        <div className="stack narrow">
          <NeedsAttention />
          <Models span={span} search={search} />
        </div>
      </div>
    </>
  )
}

function Top({ range, span, search }: OfRange & { readonly range: DateRange }) {
  const navigate = route.useNavigate()
  return (
    <ScreenTop title="Home">
      <RangePicker
        range={range}
        compare={search.compare ?? 'before'}
        comparisons={COMPARISONS}
        spanOf={operatorSpanOf}
        onChange={(picked) =>
          void navigate({
            search: withRange(search, picked, 'before'),
            resetScroll: false,
          })
        }
      />
      <ReportCsv span={span} by="account" />
    </ScreenTop>
  )
}

function GreyHome() {
  return (
    <>
      <div className="mb-4 wide-stats">
        <GreyFigures />
      </div>
      <GreyChartCard />
    </>
  )
}

function NoRequests() {
  return (
    <section className="card blank">
      <h2>No requests in this period.</h2>
      <p>
        <Link className="link" to="/operator/accounts" search={{ create: true }}>
          Create an account
        </Link>{' '}
        and{' '}
        <Link className="link" to="/operator/accounts">
          give it a key
        </Link>
        .
      </p>
    </section>
  )
}

interface OfRange {
  readonly span: TimeSpan
  readonly search: HomeSearch
}

function chartQuery(span: TimeSpan, { by = 'margin', compare = 'before' }: HomeSearch) {
  return operatorUsageQuery(span, { by: by === 'margin' ? 'account' : by, compare })
}

/** Charges by time, split by what the address says. */
function Columns({ span, search }: OfRange) {
  const { by = 'margin', compare = 'before' } = search
  const navigate = route.useNavigate()
  const query = useQuery(chartQuery(span, search))
  return (
    <UsageColumns
      query={query}
      span={span}
      compare={compare}
      by={by}
      isSplitByPart={by === 'margin'}
    >
      {() => (
        <Segments
          label="Split by"
          options={HOME_SPLITS}
          value={by}
          onChange={(next) =>
            void navigate({ search: { ...search, by: next }, resetScroll: false })
          }
        />
      )}
    </UsageColumns>
  )
}

const MODELS_MAX = 5

function Models({ span, search }: OfRange) {
  const query = useQuery(operatorReportQuery(span, { by: 'model', account: null }))
  const { data } = query
  const { by: _, compare: __, ...range } = search
  if (data === undefined && query.isError) {
    return (
      <section className="card" aria-label="Margin by model">
        <Failed what="The margin by model could not be loaded." query={query} />
      </section>
    )
  }
  if (data === undefined || data.totals.requests === 0) return null
  return (
    <MarginTable
      report={data}
      columns={['charged', 'margin']}
      rowsMax={MODELS_MAX}
      hasTotals={false}
      header={
        <header className="pb-2">
          <h2>Margin by model</h2>
          <Link to="/operator/usage" search={{ ...range, by: 'model' }}>
            All models
          </Link>
        </header>
      }
    />
  )
}
