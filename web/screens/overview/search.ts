import { CHART_DAYS, type ChartRange, type ChartSplit } from '../../api/queries.ts'

/** What the address of the Overview says; what is left out is 30 days, by model. */
export interface OverviewSearch {
  readonly range?: ChartRange
  readonly by?: ChartSplit
}

const SPLITS = ['model', 'key', 'endpoint'] as const

/** Reads it; what no range or split is called is left out. */
export function readOverviewSearch({ range, by }: Record<string, unknown>): OverviewSearch {
  const isRange = typeof range === 'string' && Object.hasOwn(CHART_DAYS, range)
  const split = SPLITS.find((one) => one === by)
  return {
    ...(isRange ? { range: range as ChartRange } : {}),
    ...(split === undefined ? {} : { by: split }),
  }
}
