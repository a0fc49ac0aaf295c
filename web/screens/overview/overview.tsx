import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import {
  COMPARISONS,
  type Comparison,
  type DateRange,
  readDateRange,
} from '../../../src/vocabulary/date-range.ts'
import type { Overview } from '../../api/answers.ts'
import { momentsOf, overviewQuery } from '../../api/queries.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard } from '../../charts/chart.tsx'
import { refusedWithoutCredit } from '../../format/debt.ts'
import { KEY_VARIABLE } from '../../parts/client-lines.ts'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { DEFAULT_RANGE, withRange } from '../../searches.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { AddCreditLink } from '../../shell/add-credit-link.tsx'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { Attention } from './attention.tsx'
import { CreditCard, GreyCreditCard } from './credit-card.tsx'
import { Figures, GreyFigures } from './figures.tsx'
import { KeysBySpend } from './keys-by-spend.tsx'
import { Spend } from './spend.tsx'

const route = getRouteApi('/$account/overview')

/** Credit, spend by model, key or endpoint, and the items that need attention. */
export function OverviewScreen() {
  const account = useAccountId()
  const { by = 'model', compare = 'before', ...search } = route.useSearch()
  const range = readDateRange(search) ?? DEFAULT_RANGE
  const spanOf = useSpanOf()
  const navigate = route.useNavigate()
  const moments = momentsOf(spanOf(range))
  const query = useQuery(overviewQuery(account, { moments, by, compare }))
  return (
    <>
      <ScreenTop title="Overview">
        <RangePicker
          range={range}
          compare={compare}
          comparisons={COMPARISONS}
          spanOf={spanOf}
          onChange={(picked) =>
            void navigate({ search: (before) => withRange(before, picked, 'before') })
          }
        />
        {!isInDebt(query.data) && <AddCreditLink className="btn pri hide-s" />}
      </ScreenTop>
      <Answer query={query} noun="overview" grey={<GreyCards />}>
        {(overview) => (
          <Cards
            overview={overview}
            range={range}
            compare={compare}
            onSplit={(next) => navigate({ search: (before) => ({ ...before, by: next }) })}
          />
        )}
      </Answer>
    </>
  )
}

/** Whether the account is below zero: the band above the page then has the button. */
function isInDebt(overview: Pick<Overview, 'credit'> | undefined): boolean {
  return overview !== undefined && overview.credit.backed.balance < 0
}

interface CardsProps {
  readonly overview: Overview
  readonly range: DateRange
  readonly compare: Comparison
  readonly onSplit: (by: Overview['by']) => void
}

function Cards({ overview, range, compare, onSplit }: CardsProps) {
  const isUnused = overview.figures.requests === 0 && overview.before.requests === 0
  return (
    <>
      <div className="hero">
        <CreditCard overview={overview}>
          {!isInDebt(overview) && <AddCreditLink className="btn pri only-s" />}
        </CreditCard>
        <Figures sums={overview} compare={compare} range={range} />
      </div>
      {isUnused ? (
        <FirstSteps {...overview} />
      ) : (
        <>
          <Spend overview={overview} onSplit={onSplit} />
          <div className="cols">
            <KeysBySpend keys={overview.keys} range={range} />
            <Attention items={overview.attention} credit={overview.credit} />
          </div>
        </>
      )}
    </>
  )
}

/** How to send the first request; before it, credit, without which it would be refused. */
function FirstSteps({ attention: items, credit }: Pick<Overview, 'attention' | 'credit'>) {
  const hasCredit = items.every(({ kind }) => kind !== 'no_credit')
  // A debt stays in the list: the first steps say only that credit is missing.
  const isSaid = !hasCredit && credit.backed.balance >= 0
  const others = isSaid ? items.filter(({ kind }) => kind !== 'no_credit') : items
  return (
    <>
      <FirstRequest hasCredit={hasCredit} credit={credit} />
      {others.length > 0 && (
        <div className="mt-4">
          <Attention items={others} credit={credit} />
        </div>
      )}
    </>
  )
}

/** An account without requests: how to send the first. Without credit, that comes first. */
function FirstRequest({
  hasCredit,
  credit,
}: Pick<Overview, 'credit'> & { readonly hasCredit: boolean }) {
  const account = useAccountId()
  const { role } = useAccountName()
  return (
    <>
      <section className="card blank">
        <h2>No requests yet</h2>
        <p>
          {hasCredit || role === 'member' ? 'Create a key' : 'Add credit, create a key'}, put it
          into <span className="mono">{KEY_VARIABLE}</span> and run the line below. The request
          appears here and in Activity within seconds.
        </p>
        {!hasCredit && (
          <p>
            {refusedWithoutCredit(credit)}
            {role === 'member' && ' Ask an owner of the account to add credit.'}
          </p>
        )}
        <span className="flex flex-wrap gap-2">
          {!hasCredit && !isInDebt({ credit }) && <AddCreditLink className="btn pri" />}
          <Link
            className={hasCredit ? 'btn pri' : 'btn'}
            to="/$account/keys"
            params={{ account }}
            search={{ create: true }}
          >
            Create a key
          </Link>
        </span>
      </section>
      <Snippet title="Send a request" apiKey={null} />
    </>
  )
}

function GreyCards() {
  return (
    <>
      <div className="hero">
        <GreyCreditCard />
        <GreyFigures />
      </div>
      <GreyChartCard />
    </>
  )
}
