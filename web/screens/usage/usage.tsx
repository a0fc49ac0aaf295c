import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import {
  COMPARISONS,
  type Comparison,
  type DateRange,
  readDateRange,
  searchOf,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import type { Usage, UsageReport } from '../../api/answers.ts'
import { hrefOf } from '../../api/calls.ts'
import { type OperatorReport, operatorReportQuery } from '../../api/operator.ts'
import { momentsOf, reportQuery, usageQuery } from '../../api/queries.ts'
import { Answer } from '../../charts/answer.tsx'
import { Chart, GreyChartCard, type LegendSeries, SPLITS } from '../../charts/chart.tsx'
import { StepZone } from '../../charts/step-zone.tsx'
import { OTHERS_TONE, tonesOf } from '../../charts/tones.ts'
import { csvName } from '../../format/csv-name.ts'
import { counted } from '../../format/numbers.ts'
import { comparedPhrase, daysOfStep } from '../../format/ranges.ts'
import { CsvLink } from '../../parts/buttons.tsx'
import { Choose } from '../../parts/pick.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, PartsFailed } from '../../parts/states.tsx'
import {
  chartStep,
  DEFAULT_RANGE,
  hasSteps,
  MEASURES,
  type Measure,
  type UsageSearch,
  withRange,
} from '../../searches.ts'
import {
  ScreenTop,
  useAccountPaths,
  useIsTab,
  useScreenSearch,
} from '../../shell/account-screen.tsx'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { Figures } from '../overview/figures.tsx'
import { MEASURE_RULES } from './measures.ts'
import { TagTable } from './tag-table.tsx'
import { type Margins, UsageTable } from './usage-table.tsx'

const MEASURE_OPTIONS = MEASURES.map((value) => ({ value, text: MEASURE_RULES[value].text }))
const SUM_OPTIONS = MEASURE_OPTIONS.filter(({ value }) => MEASURE_RULES[value].form === 'columns')
const USAGE_SPLITS = [...SPLITS, { value: 'tag', text: 'Tag' }] as const
const USAGE_COMPARISONS = [...COMPARISONS, null]
const STEPS = [
  { value: 'day', text: 'By day' },
  { value: 'hour', text: 'By hour' },
] as const

/** The usage of an account over time, and its parts. */
export function UsageScreen() {
  const accountId = useAccountId()
  const { search, change: navigate } = useScreenSearch<UsageSearch>()
  const { by = 'model', measure: asked = 'spend', compare = null } = search
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const spanOf = useSpanOf()
  const span = spanOf(range)
  const moments = momentsOf(span)
  const isByTag = by === 'tag'
  // Times are not in the report by tag.
  const measure = isByTag && MEASURE_RULES[asked].form === 'lines' ? 'spend' : asked
  const step = chartStep(span, search)
  const chartBy = isByTag ? 'model' : by
  const charts = useQuery({
    ...usageQuery(accountId, { moments, by: chartBy, step, compare }),
    enabled: !isByTag,
  })
  const tags = useQuery({ ...reportQuery(accountId, moments, 'tag'), enabled: isByTag })
  const { margins, query: read } = useMargins(span, by)
  const look = (next: DateRange) =>
    navigate((before) => withRange(before, { range: next, compare }))
  return (
    <>
      <ScreenTop title="Usage">
        <RangePicker
          range={range}
          compare={compare}
          comparisons={USAGE_COMPARISONS}
          spanOf={spanOf}
          onChange={(picked) =>
            navigate((before) => withRange(before, picked), { resetScroll: false })
          }
        />
        <Download accountId={accountId} usage={isByTag ? tags.data : charts.data} />
      </ScreenTop>
      <Choices by={by} measure={measure} step={hasSteps(span, by) ? step : null} />
      {margins !== null && <PartsFailed parts={{ 'Provider cost and margin': read }} />}
      {isByTag ? (
        <Answer query={tags} noun="usage report" grey={<GreyChartCard />}>
          {(report) =>
            report.totals.requests === 0 ? (
              <NoRequests onRange={look} />
            ) : (
              <TagTable report={report} measure={measure} margins={margins} />
            )
          }
        </Answer>
      ) : (
        <Answer query={charts} noun="usage report" grey={<GreyChartCard />}>
          {(usage) => (
            <Cards
              usage={usage}
              measure={measure}
              margins={margins}
              range={range}
              span={span}
              compare={compare}
              onRange={look}
            />
          )}
        </Answer>
      )}
    </>
  )
}

/** The figures of operators, on their tab of the account. By position: the days, and the grouping. */
function useMargins(span: TimeSpan, by: OperatorReport['by']) {
  const isTab = useIsTab()
  const account = useAccountId()
  const report = { ...operatorReportQuery(span, { by, account }), enabled: isTab }
  const query = useQuery(report)
  // Figures of another range or grouping would stand beside spend that is not theirs.
  const margins: Margins = isTab ? (query.isPlaceholderData ? undefined : query.data) : null
  return { margins, query }
}

interface ChoicesProps {
  readonly by: NonNullable<UsageSearch['by']>
  readonly measure: Measure
  /** Null: the steps can't be chosen. */
  readonly step: Usage['step'] | null
}

/** The measure, the split and the steps of the charts. */
function Choices({ by, measure, step }: ChoicesProps) {
  const { change: navigate } = useScreenSearch<UsageSearch>()
  const change = (part: UsageSearch) =>
    navigate((before) => ({ ...before, ...part }), { resetScroll: false })
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser
    <div className="filters" role="group" aria-label="Filters">
      <Choose
        label="Measure"
        icon="usage"
        options={by === 'tag' ? SUM_OPTIONS : MEASURE_OPTIONS}
        value={measure}
        onChange={(next) => change({ measure: next as Measure })}
      />
      <Segments
        label="Split by"
        options={USAGE_SPLITS}
        value={by}
        onChange={(next) => change({ by: next })}
      />
      {step !== null && <StepSegments step={step} />}
    </div>
  )
}

function StepSegments({ step }: { step: Usage['step'] }) {
  const { change } = useScreenSearch<UsageSearch>()
  return (
    <Segments
      label="Steps"
      options={STEPS}
      value={step}
      onChange={(next) =>
        change(({ step: _, ...rest }) => (next === 'hour' ? { ...rest, step: next } : rest), {
          resetScroll: false,
        })
      }
    />
  )
}

interface DownloadProps {
  readonly accountId: string
  /** Undefined: the answer is not there yet. */
  readonly usage: Usage | UsageReport | undefined
}

/** The figures that are shown, as CSV; for operators with cost and margin. */
function Download({ accountId, usage }: DownloadProps) {
  const { name } = useAccountName()
  const isTab = useIsTab()
  if (usage === undefined) return null
  const { from, to, by } = usage
  const asked = { account_id: accountId, from, to }
  // Only operators' reports are by account or by upstream.
  if (by === 'account' || by === 'upstream') return null
  const step = usage.object === 'usage' ? usage.step : undefined
  const report = { from, to, by, account: accountId, format: 'csv' } as const
  const as = isTab ? 'operator' : 'member'
  const path =
    // The report of operators has a line for all groups, but no hours.
    isTab && step !== 'hour'
      ? hrefOf('operator', 'getAllUsage', { ...report, step })
      : usage.object === 'usage'
        ? hrefOf(as, 'downloadUsage', { ...asked, by: usage.by, step: usage.step })
        : hrefOf('member', 'getUsageReport', { ...asked, by, format: 'csv' })
  return <CsvLink href={path} name={csvName({ kind: 'usage', of: name, from, to, by })} />
}

interface NoRequestsProps {
  readonly onRange: (range: DateRange) => void
}

function NoRequests({ onRange }: NoRequestsProps) {
  return (
    <section className="card">
      <Empty title="No requests in this period.">
        <p>Spend, requests and latency appear here.</p>
        <button
          type="button"
          className="btn"
          onClick={() => onRange({ kind: 'moving', range: 'all' })}
        >
          Show all time
        </button>
      </Empty>
    </section>
  )
}

interface CardsProps extends NoRequestsProps {
  readonly usage: Usage
  readonly measure: Measure
  readonly margins: Margins
  readonly range: DateRange
  readonly span: TimeSpan
  /** Null: with nothing. */
  readonly compare: Comparison | null
}

function Cards({ usage, measure, margins, range, span, compare, onRange }: CardsProps) {
  const { step, by, groups, compared } = usage
  const account = useAccountId()
  const paths = useAccountPaths()
  const navigate = useNavigate()
  const { text, form, of, show, axis } = MEASURE_RULES[measure]
  if (groups.length === 0) return <NoRequests onRange={onRange} />
  const comparedName = compare === null ? '' : `${text} ${comparedPhrase(span, compare)}`
  const open = (at: number, groupId: string | null) => {
    const isNamed = groupId !== null && groupId !== 'others' && groupId !== 'pruned'
    void navigate({
      to: paths.activity,
      params: { account },
      search: { ...searchOf(daysOfStep(usage, at)), ...(isNamed ? { [by]: [groupId] } : {}) },
    })
  }
  return (
    <>
      <div className="mb-4 wide-stats">
        <Figures sums={usage} compare={compare ?? 'before'} range={range} />
      </div>
      <section className="card mb-4">
        <header>
          <h2>
            {text} by {step} <StepZone step={step} />
          </h2>
          <p className="note num">
            {textOf(of(usage.figures), show)} {form === 'columns' ? 'in total' : 'overall'}
          </p>
        </header>
        <Chart
          form={form}
          label={`${text} by ${step} and ${by}`}
          step={step}
          steps={usage.steps}
          series={seriesOf(usage, measure)}
          totals={usage.all.map(of)}
          compared={
            compared === null
              ? null
              : {
                  name: comparedName,
                  values: compared.steps.map(({ figures }) => of(figures)),
                  text: textOf(of(usage.before), show),
                }
          }
          onOpen={open}
          showValue={show}
          showAxis={axis}
          isHistoryComplete={usage.history.complete}
        />
      </section>
      <UsageTable
        usage={usage}
        measure={measure}
        margins={margins}
        range={range}
        comparedName={compare === 'year' ? 'a year before' : 'before'}
      />
    </>
  )
}

function seriesOf(
  { series, others, groups, by }: Usage,
  measure: Measure,
): readonly LegendSeries[] {
  const { of, show } = MEASURE_RULES[measure]
  const tones = tonesOf(
    by,
    series.map(({ id }) => id),
  )
  const named = series.map(({ id, name, steps }) => {
    const figures = groups.find((group) => group.id === id)?.figures
    const text = figures === undefined ? '' : textOf(of(figures), show)
    return { id, name, tone: tones.get(id) ?? OTHERS_TONE, values: steps.map(of), text }
  })
  if (others === null) return named
  const { count, figures, steps } = others
  const name = counted(count, `other ${by}`)
  const text = textOf(of(figures), show)
  return [...named, { id: 'others', name, tone: OTHERS_TONE, values: steps.map(of), text }]
}

function textOf(value: number | null, show: (value: number) => string): string {
  return value === null ? '–' : show(value)
}
