import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { TimeSpan } from '../../../src/vocabulary/date-range.ts'
import {
  type AccountState,
  type AccountsOrder,
  accountsQuery,
  type ListedAccount,
} from '../../api/operator.ts'
import { shortId } from '../../format/ids.ts'
import { money } from '../../format/money.ts'
import { count, counted } from '../../format/numbers.ts'
import { ago } from '../../format/time.ts'
import { directionOf, type Head, ListCard, Older } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useSettled } from '../../parts/use-settled.ts'
import { useKeptRange } from '../../shell/kept-range.ts'
import { nextOrder } from './account-orders.ts'
import { Margin } from './margin-figures.tsx'
import type { AccountsSearch } from './search.ts'

const COLUMNS = [
  { text: 'Account', sort: 'name' },
  { text: 'Available', className: 'num', sort: 'available' },
  { text: 'Held', className: 'num hide-m', sort: 'held' },
  { text: 'Spend', className: 'num', sort: 'charged' },
  { text: 'Margin', className: 'num', sort: 'margin' },
  { text: 'State' },
  { text: 'Last request', className: 'hide-m', sort: 'last_request' },
] as const

function headsOf(
  order: AccountsOrder | undefined,
  onSort: AccountTableProps['onSort'],
): readonly Head[] {
  return COLUMNS.map((column) => {
    if (!('sort' in column)) return column
    const { sort, ...head } = column
    const direction = directionOf(sort, order)
    return { ...head, sort: { direction, onSort: () => onSort(nextOrder(sort, order)) } }
  })
}

interface AccountTableProps {
  readonly filters: Pick<AccountsSearch, 'search' | 'state' | 'sort'>
  /** The time that was charged for. */
  readonly span: TimeSpan
  readonly onCreate: () => void
  /** Undefined: newest first. */
  readonly onSort: (order: AccountsOrder | undefined) => void
}

const SEARCH_AFTER_MS = 150

/** The accounts that match. */
export function AccountTable({ filters, span, onCreate, onSort }: AccountTableProps) {
  const { state, sort } = filters
  const search = useSettled(filters.search ?? '', SEARCH_AFTER_MS)
  const query = useInfiniteQuery({
    ...accountsQuery(search, { state, sort, span }),
    refetchInterval: 30_000,
  })
  const accounts = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard
      label="Accounts"
      query={query}
      rows={accounts}
      empty={
        search !== '' ? (
          <Empty title={`No account matches “${search}”.`}>
            <p>Search by a part of a name, an email or an ID.</p>
          </Empty>
        ) : state !== undefined ? (
          <Empty title={NONE_IN[state]}>
            <p>Other accounts are under All.</p>
          </Empty>
        ) : (
          <Empty title="No accounts yet.">
            <p>An account holds credit and API keys.</p>
            <button type="button" className="btn" onClick={onCreate}>
              Create account
            </button>
          </Empty>
        )
      }
      heads={headsOf(sort, onSort)}
      greyRows={10}
      row={(each) => <AccountRow key={each.id} listed={each} />}
    >
      <Older
        query={query}
        noun="account"
        shown={`${counted(accounts?.length ?? 0, 'account')}${sort === undefined ? ', newest first' : ''}`}
        text={sort === undefined ? 'Older accounts' : 'More accounts'}
      />
    </ListCard>
  )
}

const NONE_IN: Readonly<Record<AccountState, string>> = {
  active: 'No account is active.',
  suspended: 'No account is suspended.',
  low_credit: 'No account has low credit.',
  in_debt: 'No account is in debt.',
  failing: 'No account has many refused or failed requests.',
}

/** `120 of 148 requests refused or failed, mostly insufficient_credit`. */
function failingWords({ requests, refused, failed, code }: NonNullable<ListedAccount['failing']>) {
  const mostly = code === null ? '' : `, mostly ${code}`
  return `${count(refused + failed)} of ${counted(requests, 'request')} refused or failed${mostly}`
}

function AccountRow({ listed }: { readonly listed: ListedAccount }) {
  const { id, name, email, disabled, credit, charge = 0, margin = null } = listed
  const isIdle = charge === 0 && margin === 0
  const held = credit.backed.held + credit.free.held
  const searchTo = useKeptRange()
  const lastAt = listed.last_request_at ?? null
  return (
    <tr className={disabled ? 'dim' : ''}>
      <td className="name">
        <Link
          className="hover:underline"
          to="/operator/accounts/$account"
          params={{ account: id }}
          search={searchTo('/operator/accounts/$account')}
        >
          <b title={name}>{name}</b>
        </Link>
        <span className="two" title={email ?? id}>
          {email ?? shortId(id)}
        </span>
        {listed.failing !== undefined && (
          <span className="two whitespace-normal! text-bad">{failingWords(listed.failing)}</span>
        )}
      </td>
      <td className="num">
        {credit.backed.balance < 0 ? (
          <>
            <span className="neg">{money(credit.backed.balance)}</span>
            <span className="two neg whitespace-nowrap">owes {money(-credit.backed.balance)}</span>
          </>
        ) : (
          money(credit.backed.available)
        )}
        {credit.free.available > 0 && (
          <span className="two">{money(credit.free.available)} free</span>
        )}
      </td>
      <td className="num hide-s hide-m">
        {held === 0 ? <span className="dimmed">–</span> : money(held)}
      </td>
      <td className="num hide-s">{isIdle ? <span className="dimmed">–</span> : money(charge)}</td>
      <td className="num hide-s">
        {isIdle ? <span className="dimmed">–</span> : <Margin figures={{ charge, margin }} />}
      </td>
      <td>
        <span className={`chip ${disabled ? 'bad' : 'good'}`}>
          {disabled ? 'Suspended' : 'Active'}
        </span>
      </td>
      <td className="hide-s hide-m text-ink-2">
        {lastAt === null ? <span className="dimmed">never</span> : <Time at={lastAt} show={ago} />}
      </td>
      <td className="only-s num dimmed">
        {charge === 0 ? 'nothing spent' : `${money(charge)} spent`}
      </td>
    </tr>
  )
}
