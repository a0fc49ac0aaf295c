import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Overview } from '../../api/answers.ts'
import { overviewQuery } from '../../api/queries.ts'
import { Answer } from '../../charts/answer.tsx'
import { GreyChartCard, RangeSegments } from '../../charts/chart.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { AddCreditLink } from './add-credit-link.tsx'
import { Attention } from './attention.tsx'
import { CreditCard, GreyCreditCard } from './credit-card.tsx'
import { Figures, GreyFigures } from './figures.tsx'
import { FirstRequest } from './first-request.tsx'
import { KeysBySpend } from './keys-by-spend.tsx'
import { Spend } from './spend.tsx'

const route = getRouteApi('/$account/overview')

/** Credit, what was spent on what, and what needs attention. */
export function OverviewScreen() {
  useTitle('Overview')
  const account = useAccountId()
  const { range = '30d', by = 'model' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(overviewQuery(account, { range, by }))
  return (
    <>
      <div className="top">
        <h1>Overview</h1>
        <RangeSegments
          value={range}
          onChange={(next) => navigate({ search: (search) => ({ ...search, range: next }) })}
        />
        <AddCreditLink className="btn pri hide-s" />
      </div>
      <Answer query={query} noun="overview" grey={<GreyCards />}>
        {(overview) => (
          <Cards
            overview={overview}
            onSplit={(next) => navigate({ search: (search) => ({ ...search, by: next }) })}
          />
        )}
      </Answer>
    </>
  )
}

interface CardsProps {
  readonly overview: Overview
  readonly onSplit: (by: Overview['by']) => void
}

function Cards({ overview, onSplit }: CardsProps) {
  const isUnused = overview.figures.requests === 0 && overview.before.requests === 0
  return (
    <>
      <div className="hero">
        <CreditCard overview={overview} />
        <Figures overview={overview} />
      </div>
      {isUnused ? <FirstRequest /> : <Spend overview={overview} onSplit={onSplit} />}
      {!isUnused && (
        <div className="cols">
          <KeysBySpend keys={overview.keys} />
          <Attention items={overview.attention} />
        </div>
      )}
      {isUnused && overview.attention.length > 0 && (
        <div className="mt-4">
          <Attention items={overview.attention} />
        </div>
      )}
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
