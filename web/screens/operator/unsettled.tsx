import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import {
  type Health,
  healthQuery,
  type UnsettledRequest,
  unsettledQuery,
} from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { ago, dayAndShortMinute } from '../../format/time.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty, Failed, Grey } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { requestWord } from '../activity/request-words.ts'
import { SettleRequest } from './settle-request.tsx'

/** Requests of all accounts that wait for their cost, for operators. */
export function UnsettledScreen() {
  const health = useQuery(healthQuery)
  return (
    <>
      <ScreenTop title="Unsettled" />
      <section className="card mb-4 overflow-hidden" aria-label="Held credit">
        {health.data === undefined && health.isError ? (
          <Failed what="The held credit could not be loaded." query={health} />
        ) : health.data === undefined ? (
          <div className="p-5">
            <Grey width="60%" height={60} />
          </div>
        ) : (
          <Sums health={health.data} />
        )}
      </section>
      <Waiting />
    </>
  )
}

function Sums({ health: { holds } }: { health: Health }) {
  const now = useNow()
  const of = (state: string) => holds.find((each) => each.state === state)
  const stat = (title: string, state: string, what: string) => {
    const found = of(state)
    const since = found?.oldest_opened_at ?? null
    return (
      <div className="stat">
        <h2 className="lab">{title}</h2>
        <b>{money(found?.held ?? 0)}</b>
        <p>
          {since === null
            ? 'no requests'
            : `held by ${counted(found?.requests ?? 0, 'request')}${what}, the oldest opened ${ago(new Date(since), now)}`}
        </p>
      </div>
    )
  }
  return (
    <div className="stats">
      {stat('Unresolved', 'unresolved', ' of unknown cost')}
      {stat('Provisional', 'provisional', ', charged already')}
      {stat('Running', 'open', '')}
    </div>
  )
}

const HEADS = [
  { text: 'Request' },
  { text: 'State', className: 'hide-t' },
  { text: 'Held', className: 'num' },
  { text: 'Charge', className: 'num hide-m' },
  { text: 'Next step' },
  { text: 'Settle', isHidden: true },
] as const

function Waiting() {
  const [settling, setSettling] = useState<UnsettledRequest | null>(null)
  const query = useInfiniteQuery(unsettledQuery)
  const requests = query.data?.pages.flatMap(({ data }) => data)
  return (
    <>
      <ListCard
        label="Requests"
        query={query}
        rows={requests}
        empty={
          <Empty title="No unsettled requests.">
            <p>All finished requests have a final charge.</p>
          </Empty>
        }
        heads={HEADS}
        greyRows={6}
        row={(request) => <WaitingRow key={request.id} request={request} onSettle={setSettling} />}
      >
        <Older
          query={query}
          noun="request"
          shown={`The oldest ${counted(requests?.length ?? 0, 'request')}`}
          text="Newer requests"
        />
        {settling !== null && (
          <SettleRequest request={settling} onClose={() => setSettling(null)} />
        )}
      </ListCard>
      {requests !== undefined && requests.length > 0 && (
        <p className="note mt-3">
          tollgate looks these costs up automatically. Settle a request yourself only if you know
          its cost from the provider.
        </p>
      )}
    </>
  )
}

interface WaitingRowProps {
  readonly request: UnsettledRequest
  readonly onSettle: (request: UnsettledRequest) => void
}

function WaitingRow({ request, onSettle }: WaitingRowProps) {
  const now = useNow()
  const { id, account_id: account, account_name: name, held, charge } = request
  const { word, tone } = requestWord(request)
  return (
    <tr>
      <td className="model wrap-anywhere min-[641px]:max-w-0 min-[641px]:w-[40%] min-[721px]:w-[34%]">
        <Link
          className="hover:underline"
          to="/operator/activity"
          search={{ range: 'all', account, request: id }}
        >
          <ModelName id={request.model} />
        </Link>
        <span className="two min-[641px]:flex">
          <span className="min-[641px]:truncate" title={name}>
            {name}
          </span>
          <span className="min-[641px]:whitespace-pre">
            , ended <Time at={request.ended_at ?? request.opened_at} show={ago} />
          </span>
        </span>
        <span className="two only-t">{word}</span>
      </td>
      <td className="hide-t">
        <span className={`chip ${tone}`}>{word}</span>
      </td>
      <td className={held === 0 ? 'num hide-s' : 'num wide'}>
        <span className="only-s dimmed">held </span>
        {held === 0 ? <span className="dimmed">–</span> : money(held, 4)}
      </td>
      <td className="num hide-s hide-m">
        {charge === 0 ? <span className="dimmed">–</span> : money(charge, 4)}
      </td>
      <td className="wide text-ink-2">
        <Foreseen request={request} now={now} />
      </td>
      <td className="num wide">
        <RowButton
          text="Settle"
          of={`${request.model} of ${name}`}
          onClick={() => onSettle(request)}
        />
      </td>
    </tr>
  )
}

/** When the provider is asked again, and when it is settled without an answer. */
function Foreseen({ request, now }: { request: UnsettledRequest; now: Date }) {
  const { state, next_lookup_by: nextBy, stands_at: standsAt } = request
  const stands = new Date(standsAt)
  const end = state === 'unresolved' ? 'hold is released without a charge' : 'charge becomes final'
  const otherwise = nextBy === null ? 'The' : 'Otherwise the'
  return (
    <>
      {nextBy !== null
        ? `Asked again within ${within(new Date(nextBy), now)}`
        : request.generation_id === null
          ? 'Cost can’t be looked up: the provider returned no ID'
          : 'Cost can’t be looked up at its upstream now'}
      <span className="two">
        {stands > now
          ? `${otherwise} ${end} on ${dayAndShortMinute(stands, now)}`
          : `The ${end} once the provider answers, or within an hour`}
      </span>
    </>
  )
}

/** `1 min`, `5 min`. */
function within(at: Date, now: Date): string {
  return `${Math.max(1, Math.ceil((at.getTime() - now.getTime()) / MINUTE_MS))} min`
}
