import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TimeSpan } from '../../../src/vocabulary/date-range.ts'
import {
  type ListedUpstream,
  type OperatorReport,
  operatorReportQuery,
  upstreamsQuery,
} from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, percent } from '../../format/numbers.ts'
import { ListCard } from '../../parts/list-card.tsx'
import { PartFailed } from '../../parts/states.tsx'
import { FirstByteCell, NameCell, NoUpstreams, StateChip } from './upstream-state.tsx'

const HEADS = [
  { text: 'Upstream' },
  { text: 'Requests', className: 'num' },
  { text: 'Errors', className: 'num' },
  { text: 'First byte, 24 h', className: 'num hide-m' },
  { text: 'Provider cost', className: 'num' },
  { text: 'State' },
] as const

const SHOWN_MAX = 8

/** The configured upstreams: requests, errors and cost of the range, and the state of each now. */
export function HomeUpstreams({ span }: { readonly span: TimeSpan }) {
  const query = useQuery(upstreamsQuery)
  const report = useQuery(operatorReportQuery(span, { by: 'upstream', account: null }))
  const figures = new Map(report.data?.data.map((row) => [row.id, row.figures]))
  return (
    <ListCard
      label="Upstreams"
      header={
        <header className="pb-2">
          <h2>Upstreams</h2>
          <Link to="/operator/upstreams">All upstreams</Link>
        </header>
      }
      query={query}
      rows={query.data && worthALook(query.data.data)}
      empty={<NoUpstreams />}
      heads={HEADS}
      greyRows={3}
      row={(upstream) => (
        <UpstreamRow
          key={upstream.name}
          upstream={upstream}
          figures={report.data && (figures.get(upstream.name) ?? NO_REQUESTS)}
        />
      )}
    >
      <PartFailed what="The figures of the range" query={report} />
    </ListCard>
  )
}

/** First upstreams that are not healthy, then those with the most requests: with many, Home is not the list of all of them. */
function worthALook(upstreams: readonly ListedUpstream[]): readonly ListedUpstream[] {
  if (upstreams.length <= SHOWN_MAX) return upstreams
  const isWell = ({ state }: ListedUpstream) => Number(state === 'healthy')
  return upstreams
    .toSorted((one, other) => isWell(one) - isWell(other) || other.requests - one.requests)
    .slice(0, SHOWN_MAX)
}

interface UpstreamRowProps {
  readonly upstream: ListedUpstream
  /** Undefined: not read yet, or they could not be. */
  readonly figures: Figures | undefined
}

type Figures = Pick<OperatorReport['totals'], 'requests' | 'failed' | 'cost'>

const NO_REQUESTS: Figures = { requests: 0, failed: 0, cost: 0 }

const MANY_ERRORS = 0.05

function UpstreamRow({ upstream, figures }: UpstreamRowProps) {
  const { name, dialect, first_byte_ms: firstByteMs } = upstream
  const { requests, failed } = figures ?? NO_REQUESTS
  const shown = (show: (figures: Figures) => string) =>
    figures === undefined ? '–' : show(figures)
  return (
    <tr>
      <NameCell name={name} dialect={dialect} />
      <td className="num hide-s">{shown((of) => count(of.requests))}</td>
      <td className={failed > requests * MANY_ERRORS ? 'num neg' : 'num'}>
        {shown((of) => percent(of.failed, of.requests))}
        <span className="only-s dimmed"> errors</span>
      </td>
      <FirstByteCell ms={firstByteMs} />
      <td className="num hide-s">{shown(({ cost }) => money(cost))}</td>
      <td>
        <StateChip state={upstream.state} />
      </td>
    </tr>
  )
}
