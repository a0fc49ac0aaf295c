import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import {
  COMPARISONS,
  readDateRange,
  searchOf,
  stepOf,
  type TimeSpan,
} from '../../../src/vocabulary/date-range.ts'
import type { OperatorReport } from '../../api/operator.ts'
import { momentsOf, overviewQuery } from '../../api/queries.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard } from '../../charts/chart.tsx'
import { comparedPhrase } from '../../format/ranges.ts'
import { RangePicker } from '../../parts/range-picker.tsx'
import { PartsFailed } from '../../parts/states.tsx'
import { type ComparedSearch, DEFAULT_RANGE, withRange } from '../../searches.ts'
import { useScreenSearch } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { CreditCard, GreyCreditCard } from '../overview/credit-card.tsx'
import { GreyFigures } from '../overview/figures.tsx'
import { KeysBySpend } from '../overview/keys-by-spend.tsx'
import { AccountLog } from './account-log.tsx'
import { AccountTerms } from './account-terms.tsx'
import { ChargeChart, partsOf } from './charge-chart.tsx'
import { MarginFigures } from './margin-figures.tsx'
import { useReports } from './use-reports.ts'

/** An account at a glance, for operators: credit, figures and charges of a range, keys, settings and changes. */
export function AccountSummary() {
  const accountId = useAccountId()
  const { search } = useScreenSearch<ComparedSearch>()
  const { compare = 'before' } = search
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const span = useSpanOf()(range)
  const by = stepOf(span) === 'month' ? 'month' : 'day'
  const moments = momentsOf(span)
  const overview = useQuery(overviewQuery(accountId, { moments, by: 'key', compare }))
  const asked = { by, account: accountId, compare } as const
  const { report, before, figures, parts } = useReports(span, asked)
  return (
    <>
      <div className="hero">
        <div className="slot">
          <Answer query={overview} noun="credit" grey={<GreyCreditCard />}>
            {(shown) => <CreditCard overview={shown} />}
          </Answer>
        </div>
        <div className="slot">
          <Answer query={report} noun="figures" grey={<GreyFigures />}>
            {({ totals }) => <MarginFigures totals={totals} {...figures} range={range} />}
          </Answer>
        </div>
      </div>
      <PartsFailed parts={parts} />
      <Answer query={report} noun="chart" grey={<GreyChartCard />}>
        {(shown) => <Columns report={shown} before={before} span={span} />}
      </Answer>
      <div className="cols">
        <div className="slot">
          <Answer query={overview} noun="keys" grey={<GreyChartCard />}>
            {({ keys }) => <KeysBySpend keys={keys} range={range} />}
          </Answer>
        </div>
        <div className="stack">
          <AccountTerms accountId={accountId} />
          <AccountLog accountId={accountId} />
        </div>
      </div>
    </>
  )
}

interface ColumnsProps {
  readonly report: OperatorReport
  /** The period that it is compared with; null: it is still read. */
  readonly before: OperatorReport | null
  readonly span: TimeSpan
}

/** Charges by day or month; a column opens its requests. */
function Columns({ report: { by, data, totals }, before, span }: ColumnsProps) {
  const account = useAccountId()
  const navigate = useNavigate()
  const { search, change } = useScreenSearch<ComparedSearch>()
  const { compare = 'before' } = search
  const spanOf = useSpanOf()
  const days = data.map(({ id }) => id ?? '')
  return (
    <ChargeChart
      step={by === 'month' ? 'month' : 'day'}
      steps={days.map((day) => new Date(day).toISOString())}
      series={partsOf(
        data.map(({ figures }) => figures),
        totals,
      )}
      charges={data.map(({ figures }) => figures.charge)}
      compared={
        before === null
          ? null
          : {
              name: `Spend ${comparedPhrase(span, compare)}`,
              values: before.data.map(({ figures }) => figures.charge),
            }
      }
      onOpen={(at) => {
        const day = days[at] ?? ''
        if (by !== 'day') return
        void navigate({
          to: '/operator/accounts/$account/activity',
          params: { account },
          search: searchOf({ kind: 'dates', from: day, to: day }),
        })
      }}
    >
      <RangePicker
        range={readDateRange(search) ?? DEFAULT_RANGE}
        compare={compare}
        comparisons={COMPARISONS}
        spanOf={spanOf}
        onChange={(picked) =>
          change((was) => withRange(was, picked, 'before'), { resetScroll: false })
        }
      />
    </ChargeChart>
  )
}
