import { Link } from '@tanstack/react-router'
import type { OperatorReport } from '../../api/operator.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { money } from '../../format/money.ts'
import { count, percent } from '../../format/numbers.ts'
import { Heads } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { type MarginTotals, marginShare } from './margin-figures.tsx'
import { GROUPS } from './margin-search.ts'

type Row = OperatorReport['data'][number]

interface MarginTableProps {
  readonly report: OperatorReport
  /** The period that it is compared with; null: none. */
  readonly before: OperatorReport | null
}

/** Every group with its charge, cost and margin, and a line of all. */
export function MarginTable({ report, before }: MarginTableProps) {
  const { by, data, totals } = report
  const group = GROUPS.find(({ value }) => value === by)
  const earlier = new Map(before?.data.map(({ id, figures }) => [id, figures.charge]))
  const heads = [
    { text: group?.text ?? by },
    { text: 'Requests', className: 'num' },
    { text: 'Failed', className: 'num hide-m' },
    { text: 'Charged', className: 'num' },
    ...(before === null ? [] : [{ text: 'Charged before', className: 'num hide-m' }]),
    { text: 'Provider cost', className: 'num' },
    { text: 'Margin', className: 'num' },
  ]
  return (
    <section className="card overflow-hidden" aria-label={`Margin by ${by}`}>
      <table className="cards">
        <Heads heads={heads} />
        <tbody>
          {data.map((row) => (
            <tr key={row.id}>
              <ShareCell part={row.figures.charge} whole={totals.charge}>
                <GroupName by={by} row={row} />
              </ShareCell>
              <Cells
                figures={row.figures}
                before={before === null ? null : (earlier.get(row.id) ?? 0)}
              />
            </tr>
          ))}
        </tbody>
        {data.length > 1 && (
          <tfoot>
            <tr>
              <td className="wide">
                <b>
                  All {count(data.length)} {group?.plural}
                </b>
              </td>
              <Cells figures={totals} before={before?.totals.charge ?? null} />
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  )
}

interface CellsProps {
  readonly figures: MarginTotals
  readonly before: number | null
}

function Cells({ figures, before }: CellsProps) {
  const { requests, failed, charge, cost, margin, uncosted } = figures
  return (
    <>
      <td className="num hide-s">{count(requests)}</td>
      <td className="num hide-s hide-m">{percent(failed, requests)}</td>
      <td className="only-s dimmed">
        {count(requests)} requests, {money(charge)} charged, {money(cost)} provider cost
      </td>
      <td className="num hide-s">{money(charge)}</td>
      {before !== null && <td className="num hide-s hide-m">{money(before)}</td>}
      <td className="num hide-s">{money(cost)}</td>
      <td className="num">
        {margin === null ? (
          <span title={`The cost of ${count(uncosted)} requests is not known.`}>not known</span>
        ) : (
          <>
            <b className={margin < 0 ? 'text-bad' : ''}>{money(margin)}</b>{' '}
            <span className="dimmed">{marginShare(figures)}</span>
          </>
        )}
      </td>
    </>
  )
}

function GroupName({
  by,
  row: { id, name },
}: {
  readonly by: OperatorReport['by']
  readonly row: Row
}) {
  if (id === null) return <>{by === 'tag' ? 'Without tags, or pruned' : 'Pruned requests'}</>
  if (by === 'account') {
    return (
      <Link to="/operator/accounts/$id" params={{ id }} preload={false}>
        <b>{name ?? id}</b>
      </Link>
    )
  }
  if (by === 'model') return <ModelName id={id} />
  return <b title={id}>{name ?? id}</b>
}
