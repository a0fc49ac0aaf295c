import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import { dateOf } from '../../../src/vocabulary/date-range.ts'
import type { Statement } from '../../api/answers.ts'
import { currentTime } from '../../api/clock.ts'
import { usageQuery } from '../../api/queries.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dateText } from '../../format/ranges.ts'
import { chartWeekday, listTime } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { type Head, ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Prose } from '../../parts/prose.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountPaths, useIsTab } from '../../shell/account-screen.tsx'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { isSpend, isTopUp, sumOf } from './balance-days.ts'
import { balanceText, type Changed, changeText, spendText } from './change-text.ts'
import { EntryWord, Origin, ReceiptLink } from './entry-words.tsx'
import { ListHeader, type ListProps } from './list-header.tsx'
import { ReversalChip } from './reversal-chip.tsx'

type Line = Statement['lines'][number]

const HEADS: readonly Head[] = [
  { text: 'Day' },
  { text: 'For' },
  { text: 'Amount', className: 'num' },
  { text: 'Balance', className: 'num' },
]

interface StatementListProps extends ListProps {
  readonly query: UseQueryResult<Statement>
  /** Whether the account never had credit. */
  readonly isNew: boolean
}

/** The changes of credit: a row for the requests of a day, or only top-ups. */
export function StatementList({ query, isNew, ...list }: StatementListProps) {
  const isTopUps = list.list === 'top-ups'
  const rows = query.data?.lines.filter(
    (line) => !isTopUps || isTopUp(line) || line.kind === 'grant' || line.kind === 'reversal',
  )
  return (
    <ListCard<Line>
      label={isTopUps ? 'Top-ups' : 'Statement'}
      header={<ListHeader {...list} />}
      query={query}
      rows={rows}
      failed="The statement could not be loaded."
      empty={<Nothing isTopUps={isTopUps} isNew={isNew} />}
      heads={HEADS}
      greyRows={8}
      row={(line) =>
        line.kind === 'charge' ? (
          <DayRows key={line.date} line={line} />
        ) : (
          <ChangeRow key={`${line.created_at} ${line.kind} ${line.reference}`} line={line} />
        )
      }
    >
      {rows !== undefined && (
        <footer className="pager">
          <span>{sumsText(rows, isTopUps)}</span>
          <button type="button" className="btn ghost" onClick={list.onEarlier}>
            Earlier
          </button>
        </footer>
      )}
    </ListCard>
  )
}

function Nothing({ isTopUps, isNew }: { isTopUps: boolean; isNew: boolean }) {
  const isTab = useIsTab()
  const { role } = useAccountName()
  if (isNew) {
    return (
      <Empty title="No credit yet.">
        <p>
          {isTab
            ? 'Add credit, and it appears here with its reference.'
            : role === 'member'
              ? 'Ask an owner of the account to add credit.'
              : 'Add credit or redeem a code to send requests.'}
        </p>
      </Empty>
    )
  }
  return isTopUps ? (
    <Empty title="No top-ups in this period.">
      <p>
        Purchases, their refunds and disputes, redeemed codes, and paid or free credit from the
        operator appear here.
      </p>
    </Empty>
  ) : (
    <Empty title="No changes in this period.">
      <p>Requests, top-ups and corrections appear here, each with the balance after it.</p>
    </Empty>
  )
}

/** By position: the lines, and whether they are only top-ups. */
function sumsText(lines: readonly Line[], isTopUps: boolean): string {
  const spent = -sumOf(lines.filter(isSpend))
  const addedMicros = sumOf(lines.filter(isTopUp))
  const givenMicros = sumOf(lines.filter(({ kind }) => kind === 'grant'))
  const added =
    givenMicros === 0
      ? `${money(addedMicros)} added`
      : `${money(addedMicros)} of paid credit added, ${money(givenMicros)} of free credit given`
  const expiredMicros = -sumOf(lines.filter(({ kind }) => kind === 'expiry'))
  const expired = expiredMicros === 0 ? '' : `, ${money(expiredMicros)} of free credit expired`
  const changes = lines.filter(({ kind }) => kind === 'reversal')
  const reversedMicros = -sumOf(changes.filter(({ amount }) => amount < 0))
  const reversed = reversedMicros === 0 ? '' : `, ${money(reversedMicros)} refunded or disputed`
  // By a won dispute or a failed refund. Without it the sums would differ from the balance.
  const returnedMicros = sumOf(changes.filter(({ amount }) => amount > 0))
  const returned = returnedMicros === 0 ? '' : `, ${money(returnedMicros)} returned`
  const takenMicros = -sumOf(lines.filter(({ kind }) => kind === 'chargeback'))
  const removed = takenMicros === 0 ? '' : `, ${money(takenMicros)} removed`
  const charged = isTopUps ? '' : `${money(spent, 4)} spent, `
  return `${charged}${added}${expired}${removed}${reversed}${returned}`
}

function dayText(date: string): string {
  const now = currentTime()
  if (date === dateOf(now.getTime())) return 'Today'
  const isThisYear = date.slice(0, 4) === String(now.getUTCFullYear())
  return isThisYear ? chartWeekday(new Date(date)) : dateText(date)
}

interface CellsProps {
  readonly line: Changed
  readonly of: ReactNode
}

function Cells({ line, of }: CellsProps) {
  const { amount: amountMicros, balance: balanceMicros } = line
  const amount = changeText(line)
  const tone = amountMicros > 0 ? 'plus-amt' : ''
  return (
    <>
      <td className="num only-s">
        <b className={tone}>{amount}</b>
      </td>
      <td className="hide-s text-ink-2 wrap-anywhere">{of}</td>
      <td className="only-s dimmed">{of}</td>
      <td className="num hide-s">
        <span className={tone}>{amount}</span>
      </td>
      <td className={balanceMicros < 0 ? 'num neg' : 'num dimmed'}>{balanceText(line)}</td>
    </>
  )
}

/** The requests of a day, and below them each model that they used. */
function DayRows({ line }: { line: Line }) {
  const [isOpen, setOpen] = useState(false)
  const day = dayText(line.date)
  return (
    <>
      <tr>
        <td>
          <span className="kind">
            <button
              type="button"
              className="iconb"
              aria-expanded={isOpen}
              aria-label={`Models of ${day}`}
              onClick={() => setOpen(!isOpen)}
            >
              <Icon name={isOpen ? 'down' : 'right'} small />
            </button>
            <b>{day}</b>
          </span>
        </td>
        <Cells line={line} of={counted(line.count, 'request')} />
      </tr>
      {isOpen && <ModelRows line={line} />}
    </>
  )
}

function ModelRows({ line }: { line: Line }) {
  const account = useAccountId()
  const paths = useAccountPaths()
  const { date } = line
  const to = new Date(Date.parse(date) + DAY_MS).toISOString()
  const moments = { from: new Date(date).toISOString(), to }
  const { data, error, isPlaceholderData } = useQuery(
    usageQuery(account, { moments, by: 'model', step: 'day', compare: null }),
  )
  if (data === undefined || isPlaceholderData) {
    return (
      <tr className="sub">
        <td className="wide" colSpan={HEADS.length} aria-busy={error === null}>
          {error === null ? (
            'Loading the models'
          ) : (
            <>
              The models could not be loaded. <Prose text={error.message} />
            </>
          )}
        </td>
      </tr>
    )
  }
  const apartMicros = data.figures.charge + line.amount
  return (
    <>
      {data.groups.map(({ id, name, figures }) => (
        <tr key={id} className="sub">
          <td className="model">
            {id === 'pruned' ? (
              name
            ) : (
              <Link
                className="hover:underline"
                to={paths.activity}
                params={{ account }}
                search={{ from: date, to: date, model: [id] }}
              >
                <ModelName id={name} />
              </Link>
            )}
          </td>
          <SubCells amountMicros={-figures.charge} of={counted(figures.requests, 'request')} />
        </tr>
      ))}
      {apartMicros !== 0 && (
        <tr className="sub">
          <td>Corrections and write-offs</td>
          <SubCells amountMicros={apartMicros} of="listed separately" />
        </tr>
      )}
    </>
  )
}

function SubCells({ amountMicros, of }: { amountMicros: number; of: string }) {
  const amount = spendText(amountMicros)
  return (
    <>
      <td className="num only-s">{amount}</td>
      <td className="hide-s">{of}</td>
      <td className="only-s dimmed">{of}</td>
      <td className="num hide-s">{amount}</td>
      <td className="hide-s" />
    </>
  )
}

/** A top-up, the corrections of a day, or another change. */
function ChangeRow({ line }: { line: Line }) {
  return (
    <tr>
      <td className="nowrap">
        <span className="kind">
          <span className={line.amount > 0 ? 'dot plus' : 'dot'}>
            <Icon name={iconOf(line)} small />
          </span>
          <span>
            <EntryWord entry={line} />
            {line.kind === 'purchase' && line.reversal !== null && (
              // Below the word where a window has no room beside it.
              <span className="max-[961px]:block">
                {' '}
                <ReversalChip reversal={line.reversal} />
              </span>
            )}
            <small className="two">
              <Time at={line.created_at ?? line.date} show={listTime} />
            </small>
          </span>
        </span>
      </td>
      <Cells line={line} of={<For line={line} />} />
    </tr>
  )
}

function iconOf({ kind, amount }: Line): 'plus' | 'minus' | 'clock' {
  if (kind === 'expiry') return 'clock'
  return amount > 0 ? 'plus' : 'minus'
}

function For({ line }: { line: Line }) {
  if (line.kind === 'correction') {
    const provider = `the provider billed ${line.amount > 0 ? 'less' : 'more'}`
    if (line.count > 1) return `${counted(line.count, 'correction')}: ${provider}`
    return (
      <>
        <Origin entry={line} />: {provider}
      </>
    )
  }
  if (line.reference === null) return <ReceiptLink entry={line} />
  return <Origin entry={line} />
}
