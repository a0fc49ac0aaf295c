import type { ReactNode } from 'react'
import type { OperatorReport, OperatorUsage } from '../../api/operator.ts'
import { Chart, type LegendSeries } from '../../charts/chart.tsx'
import { StepZone } from '../../charts/step-zone.tsx'
import { OTHERS_TONE, tonesOf } from '../../charts/tones.ts'
import { money, moneyTick } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'

interface ChargeChartProps {
  readonly step: OperatorUsage['step']
  /** When each step begins, RFC 3339. */
  readonly steps: readonly string[]
  /** The series that add up to the steps. */
  readonly series: readonly LegendSeries[]
  /** The charge of each step, in micro-dollars. */
  readonly charges: readonly number[]
  /** The charges of the time that it is compared with, and what that time is called; null: none. */
  readonly compared?: { readonly name: string; readonly values: readonly number[] } | null
  /** Whether all days are rolled up. Default: they are. */
  readonly isHistoryComplete?: boolean
  /** A column was chosen: its place, and the part of it that was clicked; null: none. */
  readonly onOpen?: (at: number, seriesId: string | null) => void
  /** On the right of its head. */
  readonly children: ReactNode
}

/** Charges by time, with what they are made of. */
export function ChargeChart(props: ChargeChartProps) {
  const { step, steps, series, charges, compared = null, onOpen, children } = props
  const comparedSum = compared?.values.reduce((sum, charge) => sum + charge, 0) ?? 0
  return (
    <section className="card mb-4">
      <header className="flex-wrap">
        <h2>
          Spend by {step} <StepZone step={step} />
        </h2>
        {children}
      </header>
      <Chart
        form="columns"
        label={`Spend by ${step}`}
        step={step}
        steps={steps}
        series={series}
        totals={charges}
        compared={
          // A line of zeros says no more than the figures do.
          compared !== null && comparedSum > 0 ? { ...compared, text: money(comparedSum) } : null
        }
        {...(onOpen === undefined ? {} : { onOpen })}
        showValue={(value) => money(value)}
        showAxis={moneyTick}
        isHistoryComplete={props.isHistoryComplete ?? true}
      />
    </section>
  )
}

type Figures = Pick<
  OperatorReport['totals'],
  'charge' | 'backed_charge' | 'free_charge' | 'cost' | 'margin'
>

/**
 * The parts of charges: provider cost, margin, and the part paid by free credit. Columns do not go below zero: with
 * a loss, the whole charge is cost. By position: the steps, and their sum.
 */
export function partsOf(all: readonly Figures[], sum: Figures): readonly LegendSeries[] {
  const costOf = ({ charge, cost }: Figures) => Math.min(charge, cost)
  const marginOf = ({ margin }: Figures) => Math.max(0, margin ?? 0)
  const rests = all.map((each) => each.charge - costOf(each) - marginOf(each))
  const restMicros = rests.reduce((total, rest) => total + rest, 0)
  const isKnown = all.every(({ margin }) => margin !== null)
  return [
    {
      id: 'cost',
      name: 'Provider cost',
      tone: 2,
      values: all.map(costOf),
      text: money(sum.cost),
    },
    {
      id: 'margin',
      name: 'Margin',
      tone: 1,
      values: all.map(marginOf),
      text: sum.margin === null ? '–' : money(sum.margin),
    },
    ...(restMicros === 0 && sum.free_charge === 0
      ? []
      : [
          {
            id: 'rest',
            name: isKnown ? 'Free credit' : 'Free credit, or cost not known',
            tone: 3,
            values: rests,
            text: money(sum.margin === null ? restMicros : sum.free_charge),
          },
        ]),
  ]
}

/** The parts of charges: the largest groups, and all others. */
export function groupsOf({ series, others, groups, by }: OperatorUsage): readonly LegendSeries[] {
  const tones = tonesOf(
    by,
    series.map(({ id }) => id),
  )
  const named = series.map(({ id, name, steps }) => {
    const group = groups.find((each) => each.id === id)
    return {
      id,
      name: ownedName(group?.account_name, name),
      tone: tones.get(id) ?? OTHERS_TONE,
      values: steps.map(({ charge }) => charge),
      text: money(group?.figures.charge ?? 0),
    }
  })
  if (others === null) return named
  const name = counted(others.count, `other ${by}`)
  const values = others.steps.map(({ charge }) => charge)
  const text = money(others.figures.charge)
  return [...named, { id: 'others', name, tone: OTHERS_TONE, values, text }]
}

/** A key of one of many accounts: "Northwind / staging". Other groups have their own name. By position: the account of the key, and the name. */
export function ownedName(accountName: string | null | undefined, name: string): string {
  return accountName == null ? name : `${accountName} / ${name}`
}
