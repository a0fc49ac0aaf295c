import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import {
  comparedSpan,
  type DateRange,
  searchOf,
  spanOf,
  type TimeSpan,
  wholeMonth,
  yesterday,
} from '../../../src/vocabulary/date-range.ts'
import { withQuery } from '../../api/client.ts'
import {
  type OperatorReport,
  type OperatorUsage,
  operatorReportQuery,
  operatorUsageQuery,
} from '../../api/operator.ts'
import { Answer } from '../../charts/answer.tsx'
import { Chart, GreyChartCard, type LegendSeries } from '../../charts/chart.tsx'
import { money, moneyTick } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { Icon } from '../../parts/icon.tsx'
import { Choose } from '../../parts/pick.tsx'
import { Empty } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { MarginFigures } from './margin-figures.tsx'
import { GROUPS, type Group, type MarginSearch, rangeOf } from './margin-search.ts'
import { MarginTable } from './margin-table.tsx'

const route = getRouteApi('/operator/usage')

const COMPARED = [
  { value: '', text: 'Compare to nothing' },
  { value: 'before', text: 'Compare to the period before' },
  { value: 'year', text: 'Compare to the year before' },
] as const

/** What all accounts were charged, what providers billed, and what was left of it. */
export function MarginScreen() {
  useTitle('Usage and margin')
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { by = 'account', compare } = search
  const nowMs = Date.now()
  const range = rangeOf(search)
  const span = spanOf(range, { nowMs, firstMs: nowMs })
  const report = useQuery(operatorReportQuery(span, by))
  const before = useQuery({
    ...operatorReportQuery(compare === undefined ? span : comparedSpan(span, compare), by),
    enabled: compare !== undefined,
  })
  const change = (next: MarginSearch) => void navigate({ search: next, resetScroll: false })
  const compared = compare === undefined ? null : (before.data ?? null)
  return (
    <>
      <div className="top">
        <h1>Usage and margin</h1>
        <Download span={span} by={by} />
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <div className="filters" role="group" aria-label="What is shown">
        <Choose
          label="Group by"
          icon="usage"
          options={GROUPS.map(({ value, text }) => ({ value, text: `By ${text.toLowerCase()}` }))}
          value={by}
          onChange={(next) => change({ ...search, by: next as Group })}
        />
        <Ranges
          range={range}
          nowMs={nowMs}
          onChange={(next) => change({ ...kept(search), ...searchOf(next) })}
        />
        <Choose
          label="Comparison"
          icon="clock"
          options={COMPARED}
          value={compare ?? ''}
          onChange={(next) => {
            const { compare: _, ...rest } = search
            change(next === 'before' || next === 'year' ? { ...rest, compare: next } : rest)
          }}
        />
      </div>
      <Answer query={report} noun="usage" grey={<GreyChartCard />}>
        {(shown) =>
          shown.totals.requests === 0 && shown.totals.cost === 0 ? (
            <section className="card">
              <Empty title="No requests in this period.">
                <p>Charges, provider cost and margin appear here.</p>
              </Empty>
            </section>
          ) : (
            <>
              <MarginFigures totals={shown.totals} before={compared?.totals ?? null} />
              <Columns span={span} by={by} />
              <MarginTable report={shown} before={compared} />
            </>
          )
        }
      </Answer>
    </>
  )
}

/** An address without its range. */
function kept({ by, compare }: MarginSearch): MarginSearch {
  return { ...(by === undefined ? {} : { by }), ...(compare === undefined ? {} : { compare }) }
}

interface RangesProps {
  readonly range: DateRange
  readonly nowMs: number
  readonly onChange: (range: DateRange) => void
}

/** The ranges that people ask for most; the address takes any two dates. */
function Ranges({ range, nowMs, onChange }: RangesProps) {
  const presets: readonly { readonly text: string; readonly range: DateRange }[] = [
    { text: 'Today', range: { kind: 'moving', range: 'today' } },
    { text: 'Yesterday', range: yesterday(nowMs) },
    { text: 'Last 7 days', range: { kind: 'moving', range: '7d' } },
    { text: 'Last 30 days', range: { kind: 'moving', range: '30d' } },
    { text: 'Last 90 days', range: { kind: 'moving', range: '90d' } },
    { text: 'This month', range: { kind: 'moving', range: 'month' } },
    { text: 'Last month', range: wholeMonth(nowMs, -1) },
    { text: 'This year', range: { kind: 'moving', range: 'year' } },
  ]
  const nameOf = (each: DateRange): string => Object.values(searchOf(each)).join(' to ')
  const options = presets.map(({ text, range: each }) => ({ value: nameOf(each), text }))
  const own = nameOf(range)
  const isPreset = options.some(({ value }) => value === own)
  return (
    <Choose
      label="Period"
      icon="activity"
      options={isPreset ? options : [{ value: own, text: own }, ...options]}
      value={own}
      onChange={(next) => {
        const picked = presets.find(({ range: each }) => nameOf(each) === next)
        if (picked !== undefined) onChange(picked.range)
      }}
    />
  )
}

interface ShownProps {
  readonly span: TimeSpan
  readonly by: Group
}

/** The figures that are shown, as CSV. */
function Download({ span, by }: ShownProps) {
  const from = new Date(span.fromMs).toISOString().slice(0, 10)
  const to = new Date(span.toMs).toISOString().slice(0, 10)
  const path = withQuery('/app/api/operator/usage/report', { from, to, by, format: 'csv' })
  return (
    <a className="btn" href={path} download={`usage-${from}-by-${by}.csv`}>
      <Icon name="download" small />
      CSV
    </a>
  )
}

const CHARTED = ['account', 'key', 'model', 'endpoint', 'upstream'] as const

/** Charges by time, by group; or what they are made of, where time or tags are the groups. */
function Columns({ span, by }: ShownProps) {
  const charted = CHARTED.find((each) => each === by)
  const query = useQuery(operatorUsageQuery(span, charted ?? 'upstream'))
  return (
    <Answer query={query} noun="chart" grey={<GreyChartCard />}>
      {(usage) => (
        <section className="card mb-4">
          <header>
            <h2>
              Charged by {usage.step} <span className="font-normal text-ink-3">UTC</span>
            </h2>
            <p className="note num">{money(usage.figures.charge)} in all</p>
          </header>
          <Chart
            form="columns"
            label={`Charged by ${usage.step}`}
            step={usage.step}
            steps={usage.steps}
            series={charted === undefined ? partsOf(usage) : groupsOf(usage)}
            totals={usage.all.map(({ charge }) => charge)}
            showValue={(value) => money(value)}
            showAxis={moneyTick}
            isHistoryComplete={usage.history.complete}
          />
        </section>
      )}
    </Answer>
  )
}

type Figures = OperatorReport['totals']

/** A charge as provider cost, margin and what free credit paid. Columns do not go below zero: a loss is all cost. */
function partsOf({ all, figures }: OperatorUsage): readonly LegendSeries[] {
  const costOf = ({ charge, cost }: Pick<Figures, 'charge' | 'cost'>) => Math.min(charge, cost)
  const restOf = (of: Pick<Figures, 'charge' | 'cost'>) => of.charge - costOf(of)
  return [
    {
      ...{ id: 'cost', name: 'Provider cost', tone: 2 },
      ...{ values: all.map(costOf), text: money(figures.cost) },
    },
    {
      ...{ id: 'margin', name: 'Charged above it', tone: 1 },
      ...{ values: all.map(restOf), text: money(figures.charge - figures.cost) },
    },
  ]
}

// The fifth colour is for all others.
const TONES = [1, 2, 3, 4, 6]
const OTHERS_TONE = 5

function groupsOf({ series, others, groups, by }: OperatorUsage): readonly LegendSeries[] {
  const named = series.map(({ id, name, steps }, place) => {
    const figures = groups.find((group) => group.id === id)?.figures
    const values = steps.map(({ charge }) => charge)
    return {
      id,
      name,
      tone: TONES[place] ?? OTHERS_TONE,
      values,
      text: money(figures?.charge ?? 0),
    }
  })
  if (others === null) return named
  const name = counted(others.count, `other ${by}`)
  const values = others.steps.map(({ charge }) => charge)
  const text = money(others.figures.charge)
  return [...named, { id: 'others', name, tone: OTHERS_TONE, values, text }]
}
