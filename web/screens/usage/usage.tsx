import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Usage } from '../../api/answers.ts'
import { withQuery } from '../../api/client.ts'
import { type ChartRange, usageQuery } from '../../api/queries.ts'
import { Answer } from '../../charts/answer.tsx'
import {
  Chart,
  GreyChartCard,
  type LegendSeries,
  RangeSegments,
  SplitSegments,
} from '../../charts/chart.tsx'
import { counted } from '../../format/numbers.ts'
import { Icon } from '../../parts/icon.tsx'
import { Choose } from '../../parts/pick.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { hasSteps, MEASURES, type Measure, stepOf, type UsageSearch } from '../../searches.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { MEASURE_RULES } from './measures.ts'
import { UsageTable } from './usage-table.tsx'

const route = getRouteApi('/$account/usage')

const MEASURE_OPTIONS = MEASURES.map((value) => ({ value, text: MEASURE_RULES[value].text }))
const STEPS = [
  { value: 'day', text: 'By day' },
  { value: 'hour', text: 'By hour' },
] as const

/** What an account used over time, and of what it was made. */
export function UsageScreen() {
  useTitle('Usage')
  const accountId = useAccountId()
  const search = route.useSearch()
  const { range = '30d', by = 'model', measure = 'spend' } = search
  const step = stepOf(search)
  const navigate = route.useNavigate()
  const query = useQuery(usageQuery(accountId, { range, by, step }))
  const change = (part: UsageSearch) =>
    void navigate({ search: (before) => ({ ...before, ...part }), resetScroll: false })
  return (
    <>
      <div className="top">
        <h1>Usage</h1>
        <RangeSegments value={range} onChange={(next) => change({ range: next })} />
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <div className="filters" role="group" aria-label="What is shown">
        <Choose
          label="Measure"
          icon="usage"
          options={MEASURE_OPTIONS}
          value={measure}
          onChange={(next) => change({ measure: next as Measure })}
        />
        <SplitSegments value={by} onChange={(next) => change({ by: next })} />
        {hasSteps({ range, by }) && (
          <Segments
            label="Steps"
            options={STEPS}
            value={step}
            onChange={(next) =>
              void navigate({
                search: ({ step: _, ...rest }) =>
                  next === 'hour' ? { ...rest, step: next } : rest,
                resetScroll: false,
              })
            }
          />
        )}
        {query.data !== undefined && <Download usage={query.data} />}
      </div>
      <Answer query={query} noun="usage" grey={<GreyChartCard />}>
        {(usage) => (
          <Cards
            usage={usage}
            measure={measure}
            range={range}
            onRange={(next) => change({ range: next })}
          />
        )}
      </Answer>
    </>
  )
}

function Download({ usage: { account_id, from, to, by, step } }: { usage: Usage }) {
  const path = withQuery(`/app/api/accounts/${account_id}/usage.csv`, { from, to, by, step })
  return (
    <a className="btn ml-auto" href={path} download={`usage-${from.slice(0, 10)}-by-${by}.csv`}>
      <Icon name="download" small />
      CSV
    </a>
  )
}

interface CardsProps {
  readonly usage: Usage
  readonly measure: Measure
  readonly range: ChartRange
  readonly onRange: (range: ChartRange) => void
}

function Cards({ usage, measure, range, onRange }: CardsProps) {
  const { step, by, groups } = usage
  const { text, form, of, show, axis } = MEASURE_RULES[measure]
  if (groups.length === 0) {
    return (
      <section className="card">
        <Empty title="No requests in this range">
          <p>
            What requests cost, how many there were and how fast they were answered stands here.
          </p>
          {range !== '90d' && (
            <button type="button" className="btn" onClick={() => onRange('90d')}>
              Look at 90 days
            </button>
          )}
        </Empty>
      </section>
    )
  }
  return (
    <>
      <section className="card mb-4">
        <header>
          <h2>
            {text} by {step} {step === 'day' && <span className="font-normal text-ink-3">UTC</span>}
          </h2>
          <p className="note num">
            {textOf(of(usage.figures), show)} {form === 'columns' ? 'in all' : 'overall'}
          </p>
        </header>
        <Chart
          form={form}
          label={`${text} by ${step} and ${by}`}
          step={step}
          steps={usage.steps}
          series={seriesOf(usage, measure)}
          totals={usage.all.map(of)}
          showValue={show}
          showAxis={axis}
          isHistoryComplete={usage.history.complete}
        />
      </section>
      <UsageTable usage={usage} measure={measure} range={range} />
    </>
  )
}

// The fifth colour is for all others.
const TONES = [1, 2, 3, 4, 6]
const OTHERS_TONE = 5

function seriesOf(
  { series, others, groups, by }: Usage,
  measure: Measure,
): readonly LegendSeries[] {
  const { of, show } = MEASURE_RULES[measure]
  const named = series.map(({ id, name, steps }, place) => {
    const figures = groups.find((group) => group.id === id)?.figures
    const text = figures === undefined ? '' : textOf(of(figures), show)
    return { id, name, tone: TONES[place] ?? OTHERS_TONE, values: steps.map(of), text }
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
