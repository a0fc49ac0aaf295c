import type { UseQueryResult } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Comparison, searchOf, type TimeSpan } from '../../../src/vocabulary/date-range.ts'
import type { OperatorUsage } from '../../api/operator.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard } from '../../charts/chart.tsx'
import { setFields } from '../../format/address.ts'
import { comparedPhrase, daysOfStep } from '../../format/ranges.ts'
import type { ActivitySearch } from '../activity/search.ts'
import { ChargeChart, groupsOf, partsOf } from './charge-chart.tsx'

interface UsageColumnsProps {
  readonly query: UseQueryResult<OperatorUsage>
  readonly span: TimeSpan
  /** Null: none. */
  readonly compare: Comparison | null
  /** Whether columns are split into the parts of the charges. Otherwise: into groups. */
  readonly isSplitByPart: boolean
  /** The grouping of the page, by which Activity is filtered. */
  readonly by: string
  /** The account of the page. Default: all accounts. */
  readonly account?: string | undefined
  /** Shown on the right of the heading. */
  readonly children: (usage: OperatorUsage) => ReactNode
}

/** Charges by time, with the charges of an earlier time. A chosen column opens its requests in Activity. */
export function UsageColumns(props: UsageColumnsProps) {
  const { query, span, compare, isSplitByPart, by, account, children } = props
  const navigate = useNavigate()
  return (
    <Answer query={query} noun="chart" grey={<GreyChartCard />}>
      {(usage) => (
        <ChargeChart
          step={usage.step}
          steps={usage.steps}
          series={isSplitByPart ? partsOf(usage.all, usage.figures) : groupsOf(usage)}
          charges={usage.all.map(({ charge }) => charge)}
          compared={
            usage.compared === null || compare === null
              ? null
              : {
                  name: `Spend ${comparedPhrase(span, compare)}`,
                  values: usage.compared.steps.map(({ figures }) => figures.charge),
                }
          }
          isHistoryComplete={usage.history.complete}
          onOpen={(at, groupId) => {
            const days = searchOf(daysOfStep(usage, at))
            const search = { ...days, ...setFields({ account }), ...groupFilter(by, groupId) }
            void navigate({ to: '/operator/activity', search })
          }}
        >
          {children(usage)}
        </ChargeChart>
      )}
    </Answer>
  )
}

/** The filter of Activity for a group of a chart; null: the whole column. Others and pruned requests have none. By position: the grouping, and the group. */
function groupFilter(by: string, groupId: string | null): ActivitySearch {
  if (groupId === null || groupId === 'others' || groupId === 'pruned') return {}
  switch (by) {
    case 'account':
      return { account: groupId }
    case 'key':
    case 'model':
    case 'endpoint':
    case 'upstream':
      return { [by]: [groupId] }
    default:
      return {}
  }
}
