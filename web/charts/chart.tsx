import { lazy, Suspense } from 'react'
import type { ChartRange, ChartSplit } from '../api/queries.ts'
import { chartDay, chartWeekday, dayOf, minuteTime } from '../format/time.ts'
import { Segments } from '../parts/segments.tsx'
import { Grey } from '../parts/states.tsx'
import type { ChartSeries, StepChartProps } from './step-chart.tsx'

// Asked for beside the figures, not after them.
const chart = import('./step-chart.tsx').then(({ StepChart }) => ({ default: StepChart }))
const StepChart = lazy(() => chart)

/** A series with what it comes to, in words. */
export interface LegendSeries extends ChartSeries {
  readonly text: string
}

interface ChartProps extends Omit<StepChartProps, 'steps' | 'series' | 'showStep' | 'showTick'> {
  readonly step: 'day' | 'hour'
  /** When each step begins, RFC 3339. */
  readonly steps: readonly string[]
  readonly series: readonly LegendSeries[]
  /** Whether all days are rolled up. */
  readonly isHistoryComplete: boolean
}

/** A chart by time with its legend. */
export function Chart({ step, steps, series, isHistoryComplete, ...chartProps }: ChartProps) {
  const isDays = step === 'day'
  const isLong = steps.length > 48
  return (
    <div className="chart">
      <Suspense fallback={<GreyChart />}>
        <StepChart
          {...chartProps}
          steps={steps.map((at) => new Date(at))}
          series={series}
          showStep={isDays ? chartWeekday : isLong ? dayAndHour : minuteTime}
          showTick={isDays ? chartDay : isLong ? (at) => dayOf(at, at) : minuteTime}
        />
      </Suspense>
      <ul className="key">
        {series.map(({ id, name, tone, text }) => (
          <li key={id}>
            <i className={`swatch of-${tone}`} />
            {name}
            <b>{text}</b>
          </li>
        ))}
      </ul>
      {!isHistoryComplete && (
        <p className="note mt-2">
          Older requests are still being counted after an upgrade. The figures are exact; the page
          is slower until then.
        </p>
      )}
    </div>
  )
}

function dayAndHour(at: Date): string {
  return `${dayOf(at, at)} ${minuteTime(at)}`
}

function GreyChart() {
  return (
    <div className="h-58">
      <Grey width="100%" height={208} />
    </div>
  )
}

/** The shape of its card, until the answer is there. */
export function GreyChartCard() {
  return (
    <section className="card p-5" aria-hidden="true">
      <Grey width={120} />
      <div className="mt-4">
        <Grey width="100%" height={220} />
      </div>
    </section>
  )
}

const RANGES = [
  { value: '24h', text: '24 h' },
  { value: '7d', text: '7 d' },
  { value: '30d', text: '30 d' },
  { value: '90d', text: '90 d' },
] as const

interface PickProps<Value> {
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** How far back a chart looks. */
export function RangeSegments(props: PickProps<ChartRange>) {
  return <Segments label="Range" options={RANGES} {...props} />
}

/** What a chart can be split by. */
export const SPLITS = [
  { value: 'model', text: 'Model' },
  { value: 'key', text: 'Key' },
  { value: 'endpoint', text: 'Endpoint' },
] as const

/** What a chart is split by. */
export function SplitSegments(props: PickProps<ChartSplit>) {
  return <Segments label="Split by" options={SPLITS} {...props} />
}
