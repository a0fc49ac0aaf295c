import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type ListedUpstream, offeredModelsQuery, upstreamsQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, counted, percent } from '../../format/numbers.ts'
import { ago, dayAndShortMinute, duration } from '../../format/time.ts'
import { useFindRows } from '../../parts/find-rows.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Heads, ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Prose } from '../../parts/prose.tsx'
import { Empty, Failed, Grey, Stale } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { dialectName, FirstByteCell, NameCell, NoUpstreams, StateChip } from './upstream-state.tsx'

const FAILED = 'The upstreams could not be loaded.'

const HEADS = [
  { text: 'Upstream' },
  { text: 'State' },
  { text: 'Models', className: 'num hide-m' },
  { text: 'Requests', className: 'num' },
  { text: 'Errors', className: 'num' },
  { text: 'First byte', className: 'num hide-m' },
  { text: 'Provider cost', className: 'num' },
  { text: 'In flight', className: 'num hide-t' },
  { text: 'Last list', className: 'hide-m' },
] as const

const FIND = {
  label: 'Name of an upstream',
  noun: 'upstream',
  textOf: ({ name }: ListedUpstream) => name,
}

/** The configured upstreams: state, figures of the last 24 hours, and when each last listed its models. */
export function UpstreamsScreen() {
  const query = useQuery(upstreamsQuery)
  const found = useFindRows(query.data?.data, FIND)
  return (
    <>
      <ScreenTop title="Upstreams" />
      <ListCard
        label="Upstreams"
        header={found.header}
        query={query}
        rows={found.rows}
        failed={FAILED}
        empty={found.nothing ?? <NoUpstreams />}
        heads={HEADS}
        greyRows={4}
        row={(upstream) => <UpstreamRow key={upstream.name} upstream={upstream} />}
      />
      {query.data !== undefined && query.data.data.length > 0 && (
        <p className="note mt-3">Requests, errors, first byte and provider cost: last 24 hours.</p>
      )}
    </>
  )
}

function UpstreamRow({ upstream }: { upstream: ListedUpstream }) {
  const { name, dialect, models, requests, failed, first_byte_ms: firstByteMs } = upstream
  return (
    <tr>
      <NameCell name={name} dialect={dialect} />
      <td className="end">
        <StateChip state={upstream.state} />
      </td>
      <td className="num hide-s hide-m">{count(models)}</td>
      <td className="num max-[641px]:text-left!">
        {count(requests)}
        <span className="only-s dimmed"> {requests === 1 ? 'request' : 'requests'}</span>
        <span className="two only-t whitespace-nowrap">
          <InFlight upstream={upstream} /> in flight
        </span>
      </td>
      <td className="num nowrap">
        <Errors requests={requests} failed={failed} />
      </td>
      <FirstByteCell ms={firstByteMs} />
      <td className="num hide-s">{money(upstream.cost)}</td>
      <td className="num hide-s hide-t">
        <InFlight upstream={upstream} />
      </td>
      <td className="hide-s hide-m text-ink-2">
        <LastList at={upstream.listed_at} />
      </td>
    </tr>
  )
}

function Errors({ requests, failed }: Pick<ListedUpstream, 'requests' | 'failed'>) {
  const words = <span className="only-s"> failed</span>
  if (failed === 0) return <span className="dimmed">none{words}</span>
  return (
    <>
      {count(failed)}{' '}
      <span className="dimmed">
        {percent(failed, requests)}
        {words}
      </span>
    </>
  )
}

function InFlight({ upstream }: { upstream: ListedUpstream }) {
  const { in_flight: running, in_flight_max: most } = upstream
  return (
    <>
      {count(running)}
      {most !== null && <span className="dimmed"> of {count(most)}</span>}
    </>
  )
}

function LastList({ at }: { at: string | null }) {
  if (at === null) return <span className="dimmed">never</span>
  return <Time at={at} show={ago} />
}

const route = getRouteApi('/operator/upstreams/$name')

/** One upstream: its figures, its errors by code, and its last failure. */
export function OneUpstreamScreen() {
  const { name } = route.useParams()
  useTitle(name)
  const query = useQuery(upstreamsQuery)
  const upstream = query.data?.data.find((each) => each.name === name)
  return (
    <>
      <p className="crumb">
        <Link to="/operator/upstreams">Upstreams</Link>
        <Icon name="right" small />
        <span>{name}</span>
      </p>
      <div className="top">
        <h1 className="wrap-anywhere">{name}</h1>
      </div>
      {upstream !== undefined ? (
        <>
          <Stale query={query} />
          <Figures upstream={upstream} />
          <ErrorCard upstream={upstream} />
          <NotOfferedCard name={name} />
        </>
      ) : (
        <section className="card">
          {query.isError ? (
            <Failed what={FAILED} query={query} />
          ) : query.data === undefined ? (
            <div className="p-5">
              <Grey width="60%" height={60} />
            </div>
          ) : (
            <Empty title="No upstream has this name.">
              <p>The settings of the gateway name its upstreams.</p>
            </Empty>
          )}
        </section>
      )}
    </>
  )
}

const NOT_OFFERED_ROWS = 10

/** The listed models that the gateway does not offer, and why, as `tollgate upstream check` says. Nothing if it offers all. */
function NotOfferedCard({ name }: { name: string }) {
  const query = useQuery(offeredModelsQuery)
  const { data } = query
  if (data === undefined && query.isError) {
    return (
      <section className="card mt-4" aria-label="Not offered">
        <Failed what="The models that are not offered could not be loaded." query={query} />
      </section>
    )
  }
  const models = data?.not_offered.filter(({ upstream }) => upstream === name) ?? []
  if (models.length === 0) return null
  return (
    <section className="card mt-4 overflow-hidden" aria-label="Not offered">
      <header className="pb-2">
        <h2>Not offered</h2>
        <Link to="/operator/models" search={{ list: 'not_offered', find: name }}>
          {counted(models.length, 'model')}
        </Link>
      </header>
      <table className="cards" aria-label="Not offered">
        <Heads heads={[{ text: 'Model' }, { text: 'Why it is not offered' }]} />
        <tbody>
          {models.slice(0, NOT_OFFERED_ROWS).map(({ model, why }, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two rows can have no ID and the same reason
            <tr key={place}>
              <td className="model name" title={model ?? undefined}>
                {model === null ? (
                  <span className="dimmed">without an ID</span>
                ) : (
                  <ModelName id={model} />
                )}
              </td>
              <td className="wide wrap-anywhere">
                <Prose text={why} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Figures({ upstream }: { upstream: ListedUpstream }) {
  const { dialect, models, requests, failed, first_byte_ms: firstByteMs } = upstream
  const stat = (title: string, figure: ReactNode, words: ReactNode) => (
    <div className="stat">
      <h2 className="lab">{title}</h2>
      <b>{figure}</b>
      <p>{words}</p>
    </div>
  )
  const { in_flight: running, in_flight_max: most } = upstream
  return (
    <>
      <p className="note mb-4 flex flex-wrap items-center gap-x-3 gap-y-1">
        <StateChip state={upstream.state} />
        <span>{dialectName(dialect)}</span>
        <span>
          last list: <LastList at={upstream.listed_at} />
        </span>
      </p>
      <div className="mb-4 wide-stats">
        <section className="card stats" aria-label="Last 24 hours">
          {stat('Requests', count(requests), 'in the last 24 hours')}
          {stat('Errors', percent(failed, requests), counted(failed, 'request'))}
          {stat('First byte', firstByteMs === null ? '–' : duration(firstByteMs), 'median')}
          {stat('Provider cost', money(upstream.cost), 'in the last 24 hours')}
          {stat('In flight', count(running), most === null ? 'no maximum' : `of ${count(most)}`)}
          {stat('Models', count(models), 'in its last list')}
        </section>
      </div>
    </>
  )
}

function ErrorCard({ upstream }: { upstream: ListedUpstream }) {
  const { errors, failed, requests, last_failure: failure } = upstream
  const heads = [
    { text: 'Code' },
    { text: 'Requests', className: 'num' },
    { text: 'Share', className: 'num' },
  ]
  return (
    <section className="card overflow-hidden" aria-label="Errors">
      <header className="pb-2">
        <h2>Errors by code</h2>
      </header>
      {failed === 0 ? (
        <p className="note px-[18px] pb-4">No errors in the last 24 hours.</p>
      ) : (
        <table className="cards" aria-label="Errors by code">
          <Heads heads={heads} />
          <tbody>
            {errors.map((error) => (
              <tr key={error.code}>
                <td className="mono">{error.code}</td>
                <td className="num">
                  {count(error.requests)}
                  <span className="only-s dimmed">
                    {error.requests === 1 ? ' request' : ' requests'}
                  </span>
                </td>
                <td className="num hide-s">{percent(error.requests, requests)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {failure !== null && (
        <p className="note border-t border-line px-[18px] py-3">
          Last failure: <Time at={failure.at} show={dayAndShortMinute} />,{' '}
          <span className="mono">{failure.code}</span>
          {failure.http_status !== null && `, answered with ${failure.http_status}`}, on{' '}
          <ModelName id={failure.model} />,{' '}
          <Link
            className="mono wrap-anywhere hover:underline"
            to="/operator/activity"
            search={{ range: 'all', request: failure.request_id }}
          >
            {failure.request_id}
          </Link>
        </p>
      )}
    </section>
  )
}
