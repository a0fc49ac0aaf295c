import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { OperatorReport } from '../../api/operator.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { money } from '../../format/money.ts'
import { count, percent } from '../../format/numbers.ts'
import { dateText } from '../../format/ranges.ts'
import { chartMonth } from '../../format/time.ts'
import { directionOf, Heads } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { RoundedNote } from '../../parts/rounded-note.tsx'
import { useKeptRange } from '../../shell/kept-range.ts'
import { EACH_ONCE, TagNote } from '../usage/tag-table.tsx'
import { ownedName } from './charge-chart.tsx'
import { Margin, type MarginTotals } from './margin-figures.tsx'
import { isSortable, type MarginOrder, nextOrder, orderOf, sortedRows } from './margin-order.ts'
import { GROUPS } from './margin-search.ts'

type Row = OperatorReport['data'][number]

type Name = 'requests' | 'failed' | 'charged' | 'before' | 'cost' | 'margin'

interface Column {
  readonly text: string
  readonly className: string
  /** By position: the figures, and the charge of the period that they are compared with. */
  readonly cell: (figures: MarginTotals, before: number) => ReactNode
}

const COLUMNS: Readonly<Record<Name, Column>> = {
  requests: {
    text: 'Requests',
    className: 'num hide-s',
    cell: ({ requests }) => count(requests),
  },
  failed: {
    text: 'Failed',
    className: 'num hide-s hide-m',
    cell: ({ failed, requests }) => percent(failed, requests),
  },
  charged: { text: 'Spend', className: 'num hide-s', cell: ({ charge }) => money(charge) },
  before: {
    text: 'Spend before',
    className: 'num hide-s hide-m',
    cell: (_, before) => money(before),
  },
  cost: { text: 'Provider cost', className: 'num hide-s', cell: ({ cost }) => money(cost) },
  margin: {
    text: 'Margin',
    className: 'num',
    cell: (figures) => (
      <>
        <span className="only-s dimmed">margin </span>
        <Margin figures={figures} />
      </>
    ),
  },
}

const ALL = ['requests', 'failed', 'charged', 'cost', 'margin'] as const
const ALL_COMPARED = ['requests', 'failed', 'charged', 'before', 'cost', 'margin'] as const

// Their names are as long as a person made them.
const NAMED: ReadonlySet<OperatorReport['by']> = new Set(['account', 'key', 'tag', 'upstream'])

interface MarginTableProps {
  readonly report: OperatorReport
  /** The period that it is compared with. Default: none. */
  readonly before?: OperatorReport | null
  /** Above the table. Default: nothing. */
  readonly header?: ReactNode
  /** Default: all of them. */
  readonly columns?: readonly Name[]
  /** How many groups are shown. Default: all of them. */
  readonly rowsMax?: number
  /** Whether a line of all groups ends it. Default: where there are several. */
  readonly hasTotals?: boolean
  /** The order of the rows, and its change by a click on a head. Default: as the report has them. */
  readonly sort?: {
    readonly order: MarginOrder | undefined
    readonly onSort: (order: MarginOrder | undefined) => void
  }
}

/** Groups with their charge, cost and margin, the one with the most charge first, and a line of all. */
export function MarginTable(props: MarginTableProps) {
  const { report, before = null, header, rowsMax, sort } = props
  const { by, data, totals } = report
  const { columns = before === null ? ALL : ALL_COMPARED, hasTotals = data.length > 1 } = props
  const group = GROUPS.find(({ value }) => value === by)
  const earlier = new Map(before?.data.map(({ id, figures }) => [id, figures.charge]))
  const shown = columns.map((name) => ({ name, ...COLUMNS[name] }))
  const heads = columns.map((name) => {
    const { text, className } = COLUMNS[name]
    if (sort === undefined || !isSortable(name)) return { text, className }
    const { order, onSort } = sort
    const direction = directionOf(name, orderOf(by, order))
    return {
      text,
      className,
      sort: { direction, onSort: () => onSort(nextOrder(name, orderOf(by, order))) },
    }
  })
  const rows = sortedRows(data, sort?.order)
  const cells = (figures: MarginTotals, beforeMicros: number) => (
    <>
      <td className="only-s dimmed">{money(figures.charge)} spent</td>
      {shown.map(({ name, className, cell }) => (
        <td key={name} className={className}>
          {cell(figures, beforeMicros)}
        </td>
      ))}
    </>
  )
  return (
    <section className="card overflow-hidden" aria-label={`Margin by ${by}`}>
      {header}
      <table className="cards" aria-label={`Margin by ${by}`}>
        <Heads heads={[{ text: group?.text ?? by }, ...heads]} />
        <tbody>
          {rows.slice(0, rowsMax).map((row) => (
            <tr key={row.id}>
              <ShareCell part={row.figures.charge} whole={totals.charge} isName={NAMED.has(by)}>
                <GroupName by={by} row={row} />
              </ShareCell>
              {cells(row.figures, earlier.get(row.id) ?? 0)}
            </tr>
          ))}
        </tbody>
        {hasTotals && (
          <tfoot>
            <tr>
              <td className="wide">
                <b>{by === 'tag' ? EACH_ONCE : `All ${count(data.length)} ${group?.plural}`}</b>
              </td>
              {cells(totals, before?.totals.charge ?? 0)}
            </tr>
          </tfoot>
        )}
      </table>
      {by === 'tag' && <TagNote />}
      {by !== 'tag' && hasTotals && data.length <= (rowsMax ?? data.length) && (
        <RoundedNote
          columns={(['charge', 'cost', 'margin'] as const).map((name) => ({
            parts: data.map(({ figures }) => figures[name]),
            sum: totals[name],
          }))}
        />
      )}
    </section>
  )
}

/** Leads to an account, with the range of the report. */
function AccountLink({ accountId, name }: { readonly accountId: string; readonly name: string }) {
  const searchTo = useKeptRange()
  return (
    <Link
      to="/operator/accounts/$account"
      params={{ account: accountId }}
      search={searchTo('/operator/accounts/$account')}
      preload={false}
    >
      <b title={name}>{name}</b>
    </Link>
  )
}

function GroupName({
  by,
  row: { id, name, account_id: ownerId, account_name: ownerName },
}: {
  readonly by: OperatorReport['by']
  readonly row: Row
}) {
  if (id === null) return <>{by === 'tag' ? 'Without tags, or pruned' : 'Pruned requests'}</>
  if (by === 'account') return <AccountLink accountId={id} name={name ?? id} />
  if (by === 'model')
    return (
      <span className="model">
        <ModelName id={id} />
      </span>
    )
  if (by === 'day') return <b>{dateText(id)}</b>
  if (by === 'month') return <b>{chartMonth(new Date(id))}</b>
  const text = ownedName(ownerName ?? ownerId, name ?? id)
  return <b title={text}>{text}</b>
}
