import { Link, useParams } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { OperatorReport, TopUps } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, counted, percent, shortChange } from '../../format/numbers.ts'
import { FAILED_COUNTS, FailedLink, RefusedLink } from '../activity/failed-link.tsx'

/** The sums of requests. */
export type MarginTotals = OperatorReport['totals']

/** A charge, and the margin in it; null: it is not known. */
export type ChargedMargin = Pick<MarginTotals, 'charge' | 'margin'>

interface Figure {
  readonly title: string
  readonly value: string
  readonly note: string
  /** Said where the pointer rests on the note. Default: nothing. */
  readonly more?: string
}

interface MarginFiguresProps {
  readonly totals: MarginTotals
  /** The period that it is compared with; null: none. */
  readonly before: MarginTotals | null
  /** Paid credit that came in; undefined: it is not read yet. Default: the free credit that was used, in its place. */
  readonly topUps?: { readonly now: TopUps | undefined; readonly before: TopUps | undefined }
  /** The period. */
  readonly range: DateRange
}

/** Six figures of a period. */
export function MarginFigures(props: MarginFiguresProps) {
  const { totals, before, topUps, range } = props
  const { account } = useParams({ strict: false })
  const last = topUps === undefined ? freeOf(totals) : topUpsOf(topUps)
  return (
    <section className="card stats" aria-label="Figures of the period">
      {[...figuresOf(totals, before), last].map(({ title, value, note, more }) => (
        <div key={title} className="stat">
          <h2 className="lab" title={title === 'Failed' ? FAILED_COUNTS : undefined}>
            {title}
          </h2>
          <b className={value.startsWith('−') ? 'text-bad' : ''}>{value}</b>
          <p title={more}>
            {title === 'Failed' && totals.failed > 0 ? (
              <FailedLink range={range}>{note}</FailedLink>
            ) : title === 'Margin' && account !== undefined && totals.requests > 0 ? (
              <Link
                className="stat-link"
                title="Show the margin by model."
                to="/operator/usage"
                search={{ ...searchOf(range), by: 'model', account }}
              >
                {note}
              </Link>
            ) : (
              note
            )}
          </p>
          {title === 'Failed' && <RefusedLink range={range} forwarded={totals.requests} />}
        </div>
      ))}
    </section>
  )
}

/** By position: the figures, and those that they are compared with. */
function figuresOf(now: MarginTotals, before: MarginTotals | null): readonly Figure[] {
  const against = (of: (totals: MarginTotals) => number, show: (value: number) => string) => {
    if (before === null) return null
    const changed = shortChange(of(now), of(before))
    return changed === null ? 'nothing before' : `${changed} ${show(of(before))}`
  }
  return [
    {
      title: 'Spend',
      value: money(now.charge),
      note: against(({ charge }) => charge, money) ?? `${money(now.backed_charge)} of paid credit`,
    },
    {
      title: 'Provider cost',
      value: money(now.cost),
      note:
        against(({ cost }) => cost, money) ??
        (now.uncharged_cost === 0 ? '' : `${money(now.uncharged_cost)} for released requests`),
    },
    { title: 'Margin', ...marginOf(now, before) },
    {
      title: 'Requests',
      value: count(now.requests),
      note: against(({ requests }) => requests, count) ?? '',
    },
    {
      title: 'Failed',
      value: percent(now.failed, now.requests),
      note: failedNote(now, before),
    },
  ]
}

/** By position: the figures, and those that they are compared with. */
function failedNote(now: MarginTotals, before: MarginTotals | null): string {
  if (before !== null && before.requests > 0) {
    return `${count(now.failed)}, was ${percent(before.failed, before.requests)}`
  }
  return now.requests === 0 ? '' : `${count(now.failed)} of ${count(now.requests)}`
}

function freeOf({ free_charge: free, written_off: beyond }: MarginTotals): Figure {
  return {
    title: 'Free credit used',
    value: money(free),
    note: beyond === 0 ? '' : `${money(beyond)} written off`,
  }
}

function topUpsOf({ now, before }: NonNullable<MarginFiguresProps['topUps']>): Figure {
  const title = 'Top-ups'
  if (now === undefined) return { title, value: '–', note: '' }
  const parts = [
    ...(now.top_ups === 0 ? [] : [counted(now.top_ups, 'top-up')]),
    ...(now.purchases === 0 ? [] : [counted(now.purchases, 'purchase')]),
    ...(now.codes === 0 ? [] : [counted(now.codes, 'code')]),
  ].join(', ')
  const net = ({ amount, reversed }: TopUps) => amount - reversed
  const value = money(net(now))
  if (now.reversed !== 0) {
    const change = `${money(Math.abs(now.reversed))} ${now.reversed > 0 ? 'refunded or disputed' : 'returned'}`
    return { title, value, note: `${money(now.amount)} added, ${change}`, more: parts }
  }
  const changed = before === undefined ? null : shortChange(net(now), net(before))
  if (before === undefined || changed === null) return { title, value, note: parts }
  return { title, value, note: `${changed} ${money(net(before))}`, more: parts }
}

/** By position: the figures, and those that they are compared with. */
function marginOf(now: MarginTotals, before: MarginTotals | null): Omit<Figure, 'title'> {
  if (now.margin === null) {
    return { value: '–', note: `the cost of ${counted(now.uncosted, 'request')} is not known` }
  }
  const share = marginShare(now)
  const was = before === null ? null : marginShare(before)
  const note = share === null ? '' : `${share} of charges`
  return { value: money(now.margin), note: was === null ? note : `${share ?? '0%'}, was ${was}` }
}

/** A margin with its share of the charge, or that it is not known. */
export function Margin({ figures }: { readonly figures: ChargedMargin & { uncosted?: number } }) {
  const { margin, uncosted } = figures
  if (margin === null) {
    const requests = uncosted === undefined ? 'some requests' : counted(uncosted, 'request')
    return <span title={`The cost of ${requests} is not known.`}>not known</span>
  }
  return (
    <>
      <b className={margin < 0 ? 'text-bad' : ''}>{money(margin)}</b>{' '}
      <span className="pct">{marginShare(figures)}</span>
    </>
  )
}

/** The margin in its charge, with one place: `12.0%`, `−2.1%`; null: it is not known, or nothing was charged. */
function marginShare({ margin, charge }: ChargedMargin): string | null {
  if (margin === null || charge === 0) return null
  return `${margin < 0 ? '−' : ''}${((Math.abs(margin) / charge) * 100).toFixed(1)}%`
}
