import { lazy, Suspense } from 'react'
import type { Overview } from '../../api/answers.ts'
import type { ColumnSeries } from '../../charts/stacked-columns.tsx'
import { money, moneyTick } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { chartDay, chartWeekday, minuteTime } from '../../format/time.ts'
import { Segments } from '../../parts/segments.tsx'
import { Grey } from '../../parts/states.tsx'

// Asked for beside the figures, not after them.
const chart = import('../../charts/stacked-columns.tsx').then(({ StackedColumns }) => ({
  default: StackedColumns,
}))
const StackedColumns = lazy(() => chart)

const SPLITS = [
  { value: 'model', text: 'Model' },
  { value: 'key', text: 'Key' },
  { value: 'endpoint', text: 'Endpoint' },
] as const

interface SpendProps {
  readonly overview: Overview
  readonly onSplit: (by: Overview['by']) => void
}

/** What was spent by day or hour, split by model, key or endpoint. */
export function Spend({ overview, onSplit }: SpendProps) {
  const { spend, step, by } = overview
  const series = seriesOf(overview)
  const isDays = step === 'day'
  return (
    <section className="card">
      <header className="flex-wrap">
        <h2>
          Spend by {step} {isDays && <span className="font-normal text-ink-3">UTC</span>}
        </h2>
        <Segments label="Split by" options={SPLITS} value={by} onChange={onSplit} />
      </header>
      <div className="chart">
        <Suspense fallback={<GreyChart />}>
          <StackedColumns
            label={`Spend by ${step} and ${by}`}
            steps={spend.steps.map((at) => new Date(at))}
            series={series}
            showStep={isDays ? chartWeekday : minuteTime}
            showTick={isDays ? chartDay : minuteTime}
            showValue={(value) => money(value)}
            showAxis={moneyTick}
          />
        </Suspense>
        <ul className="key">
          {series.map(({ id, name, tone, values }) => (
            <li key={id}>
              <i className={`swatch of-${tone}`} />
              {name}
              <b>{money(values.reduce((total, value) => total + value, 0))}</b>
            </li>
          ))}
        </ul>
        {!overview.history.complete && (
          <p className="note mt-2">
            Older requests are still being counted after an upgrade. The figures are exact; the page
            is slower until then.
          </p>
        )}
      </div>
    </section>
  )
}

// The fifth colour is for all others, so that four are named where there are more than five.
const TONES = 5

function seriesOf({ spend: { series, others }, by }: Overview): readonly ColumnSeries[] {
  const isAll = others === null && series.length <= TONES
  const named = isAll ? series : series.slice(0, TONES - 1)
  const columns = named.map(({ id, name, charges }, index) => ({
    id,
    name,
    tone: index + 1,
    values: charges,
  }))
  if (isAll) return columns
  const rest = series.slice(TONES - 1)
  const restCount = rest.length + (others?.count ?? 0)
  const lists = [
    ...rest.map(({ charges }) => charges),
    ...(others === null ? [] : [others.charges]),
  ]
  const values = (lists[0] ?? []).map((_, at) =>
    lists.reduce((total, charges) => total + (charges[at] ?? 0), 0),
  )
  return [
    ...columns,
    { id: 'others', name: counted(restCount, `other ${by}`), tone: TONES, values },
  ]
}

function GreyChart() {
  return (
    <div className="h-58">
      <Grey width="100%" height={208} />
    </div>
  )
}

/** Its shape, until the answer is there. */
export function GreySpend() {
  return (
    <section className="card p-5" aria-hidden="true">
      <Grey width={120} />
      <div className="mt-4">
        <Grey width="100%" height={220} />
      </div>
    </section>
  )
}
