import { type ComponentType, lazy, Suspense, useState } from 'react'
import type { ChartStep } from '../../src/vocabulary/usage-step.ts'
import type { ChartSplit } from '../api/queries.ts'
import {
  chartDay,
  chartMonth,
  chartWeekday,
  dayAndShortMinute,
  dayOf,
  minuteTime,
} from '../format/time.ts'
import { Segments } from '../parts/segments.tsx'
import { Grey } from '../parts/states.tsx'
import type { ChartSeries, StepChartProps } from './step-chart.tsx'

// Loaded at the same time as the figures, not after them.
const chart = import('./step-chart.tsx')
const LazyStepChart = lazy(async () => ({ default: (await chart).StepChart }))
// Once it is there it is drawn at once: what was lazy shows its grey shape for a third of a second.
let LoadedStepChart: ComponentType<StepChartProps> = LazyStepChart
chart.then(
  ({ StepChart }) => {
    LoadedStepChart = StepChart
  },
  () => {
    // The lazy one says so where it is drawn.
  },
)

/** A series with its sum, in words. */
export interface LegendSeries extends ChartSeries {
  readonly text: string
}

interface ChartProps extends Omit<StepChartProps, 'steps' | 'series' | 'showStep' | 'showTick'> {
  readonly step: ChartStep
  /** When each step begins, RFC 3339. */
  readonly steps: readonly string[]
  readonly series: readonly LegendSeries[]
  /** Whether all days are rolled up. */
  readonly isHistoryComplete: boolean
}

/** A chart by time with its legend. */
export function Chart({ step, steps, series, isHistoryComplete, ...chartProps }: ChartProps) {
  const { showStep, showTick } = stepWords(step, steps.length)
  // Kept while the chart is mounted: another component would draw it again from the beginning.
  const [{ StepChart }] = useState(() => ({ StepChart: LoadedStepChart }))
  return (
    <div className="chart">
      <Suspense fallback={<GreyChart />}>
        <StepChart
          {...chartProps}
          steps={steps.map((at) => new Date(at))}
          series={series}
          showStep={showStep}
          showTick={showTick}
        />
      </Suspense>
      <ul className="key">
        {chartProps.compared !== undefined && chartProps.compared !== null && (
          <li>
            <i className="swatch dashed" />
            {chartProps.compared.name}
            {chartProps.compared.text !== undefined && <b>{chartProps.compared.text}</b>}
          </li>
        )}
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

const LONG_FROM_HOURS = 48

function stepWords(step: ChartStep, steps: number): Pick<StepChartProps, 'showStep' | 'showTick'> {
  switch (step) {
    case 'month':
      return { showStep: chartMonth, showTick: chartMonth }
    case 'day':
      return { showStep: chartWeekday, showTick: chartDay }
    case 'hour':
      return steps > LONG_FROM_HOURS
        ? { showStep: (at) => dayAndShortMinute(at, at), showTick: (at) => dayOf(at, at) }
        : { showStep: minuteTime, showTick: minuteTime }
  }
}

function GreyChart() {
  return (
    <div className="h-58">
      <Grey width="100%" height={208} />
    </div>
  )
}

/** The grey shape of a chart card, shown until the answer arrives. */
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

interface PickProps {
  readonly value: ChartSplit
  readonly onChange: (value: ChartSplit) => void
}

/** The possible splits of a chart. */
export const SPLITS = [
  { value: 'model', text: 'Model' },
  { value: 'key', text: 'Key' },
  { value: 'endpoint', text: 'Endpoint' },
] as const

/** The control for the split of a chart. */
export function SplitSegments(props: PickProps) {
  return <Segments label="Split by" options={SPLITS} {...props} />
}
