import type { Overview } from '../../api/answers.ts'
import { Chart, type LegendSeries, SplitSegments } from '../../charts/chart.tsx'
import { StepZone } from '../../charts/step-zone.tsx'
import { OTHERS_TONE, tonesOf } from '../../charts/tones.ts'
import { money, moneyTick } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'

interface SpendProps {
  readonly overview: Overview
  readonly onSplit: (by: Overview['by']) => void
}

/** Spend by day or hour, split by model, key or endpoint. */
export function Spend({ overview, onSplit }: SpendProps) {
  const { spend, step, by, history } = overview
  const series = seriesOf(overview)
  return (
    <section className="card">
      <header className="flex-wrap">
        <h2>
          Spend by {step} <StepZone step={step} />
        </h2>
        <SplitSegments value={by} onChange={onSplit} />
      </header>
      <Chart
        form="columns"
        label={`Spend by ${step} and ${by}`}
        step={step}
        steps={spend.steps}
        series={series}
        totals={addedUp(
          series.map(({ values }) => values),
          spend.steps.length,
        )}
        showValue={(value) => money(value)}
        showAxis={moneyTick}
        isHistoryComplete={history.complete}
      />
    </section>
  )
}

// If there are more than five, four are named.
const NAMED_MAX = 5

function seriesOf({
  spend: { steps, series, others },
  by,
}: Overview): readonly (LegendSeries & { readonly values: readonly number[] })[] {
  const isAll = others === null && series.length <= NAMED_MAX
  const named = isAll ? series : series.slice(0, NAMED_MAX - 1)
  const tones = tonesOf(
    by,
    named.map(({ id }) => id),
  )
  const columns = named.map(({ id, name, charge, charges }) => ({
    id,
    name,
    tone: tones.get(id) ?? OTHERS_TONE,
    values: charges,
    text: money(charge),
  }))
  if (isAll) return columns
  const rest = series.slice(NAMED_MAX - 1)
  const name = counted(rest.length + (others?.count ?? 0), `other ${by}`)
  const all = others === null ? rest : [...rest, others]
  const values = addedUp(
    all.map(({ charges }) => charges),
    steps.length,
  )
  const charge = all.reduce((sum, one) => sum + one.charge, 0)
  return [...columns, { id: 'others', name, tone: OTHERS_TONE, values, text: money(charge) }]
}

function addedUp(lists: readonly (readonly number[])[], length: number): readonly number[] {
  return Array.from({ length }, (_, at) => lists.reduce((sum, list) => sum + (list[at] ?? 0), 0))
}
