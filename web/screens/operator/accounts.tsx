import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { readDateRange, searchOf, type TimeSpan } from '../../../src/vocabulary/date-range.ts'
import { hrefOf } from '../../api/calls.ts'
import {
  type AccountState,
  accountsQuery,
  type ListedAccount,
  operatorReportQuery,
} from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { ago } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { DEFAULT_RANGE } from '../../searches.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { operatorSpanOf } from '../../shell/use-span.ts'
import { CreateAccount } from './create-account.tsx'
import type { MarginTotals } from './margin-figures.tsx'
import { Margin } from './margin-table.tsx'
import type { AccountsSearch } from './search.ts'

const route = getRouteApi('/operator/accounts')

/** All accounts, for operators: what each has, holds and spends. */
export function AccountsScreen() {
  useTitle('Accounts')
  const { create = false, ...filters } = route.useSearch()
  const { search = '', state, ...dates } = filters
  const csv = hrefOf('operator', 'listAccounts', {
    search: search === '' ? null : search,
    state,
    format: 'csv',
  })
  const range = readDateRange(dates) ?? DEFAULT_RANGE
  const navigate = route.useNavigate()
  useShortcuts({ '/': () => document.getElementById('find')?.focus() })
  const change = (next: AccountsSearch) =>
    void navigate({ search: next, replace: true, resetScroll: false })
  return (
    <>
      <div className="top">
        <h1>Accounts</h1>
        <RangePicker
          range={range}
          compare={null}
          spanOf={operatorSpanOf}
          onChange={(picked) =>
            change({
              ...(search !== '' && { search }),
              ...(state && { state }),
              ...searchOf(picked.range),
            })
          }
        />
        <a className="btn" href={csv} download="accounts.csv">
          <Icon name="download" />
          CSV
        </a>
        <button
          type="button"
          className="btn pri"
          onClick={() => change({ ...filters, create: true })}
        >
          <Icon name="plus" />
          Create account
        </button>
      </div>
      <div className="filters">
        <label className="find">
          <Icon name="search" small />
          <span className="vh">Name, email or ID</span>
          <input
            id="find"
            type="search"
            value={search}
            placeholder="Search by name, email or ID"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            onChange={({ target: { value } }) =>
              change({ ...dates, ...(state && { state }), ...(value !== '' && { search: value }) })
            }
          />
          <kbd className="hide-s">/</kbd>
        </label>
        <Segments
          label="State"
          options={STATES}
          value={state ?? 'all'}
          onChange={(next) =>
            change({
              ...dates,
              ...(search !== '' && { search }),
              ...(next !== 'all' && { state: next }),
            })
          }
        />
      </div>
      <AccountTable
        filters={{ ...(state && { state }), search: search.trim() }}
        span={operatorSpanOf(range)}
        onCreate={() => change({ ...filters, create: true })}
      />
      {create && (
        <CreateAccount
          onClose={() => change(filters)}
          onMade={({ id }) =>
            void navigate({
              to: '/operator/accounts/$account',
              params: { account: id },
            })
          }
        />
      )}
    </>
  )
}

const STATES = [
  { value: 'all', text: 'All' },
  { value: 'active', text: 'Active' },
  { value: 'suspended', text: 'Suspended' },
  { value: 'in_debt', text: 'In debt' },
] as const

const HEADS = [
  { text: 'Account' },
  { text: 'Available', className: 'num' },
  { text: 'Held', className: 'num hide-m' },
  { text: 'Charged', className: 'num' },
  { text: 'Margin', className: 'num' },
  { text: 'State' },
  { text: 'Last request', className: 'hide-m' },
] as const

interface AccountTableProps {
  readonly filters: Pick<AccountsSearch, 'search' | 'state'>
  /** The time that was charged for. */
  readonly span: TimeSpan
  readonly onCreate: () => void
}

function AccountTable({ filters, span, onCreate }: AccountTableProps) {
  const { search = '', state } = filters
  const report = useQuery(operatorReportQuery(span, { by: 'account', account: null }))
  const figures = new Map(report.data?.data.map((row) => [row.id, row.figures]))
  const query = useInfiniteQuery({ ...accountsQuery(search, state), refetchInterval: 30_000 })
  const accounts = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard
      label="Accounts"
      query={query}
      rows={accounts}
      failed="The accounts could not be loaded."
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
      heads={HEADS}
      greyRows={10}
      row={(each) => (
        <AccountRow
          key={each.id}
          listed={each}
          figures={report.data === undefined ? undefined : (figures.get(each.id) ?? null)}
        />
      )}
    >
      <Older
        query={query}
        shown={`${counted(accounts?.length ?? 0, 'account')}, newest first`}
        text="Older accounts"
      />
    </ListCard>
  )
}

const NONE_IN: Readonly<Record<AccountState, string>> = {
  active: 'No account is active.',
  suspended: 'No account is suspended.',
  in_debt: 'No account is in debt.',
}

interface AccountRowProps {
  readonly listed: ListedAccount
  /** The sums of its requests in the range; null: it has none; undefined: not loaded yet. */
  readonly figures: MarginTotals | null | undefined
}

function AccountRow({ listed, figures }: AccountRowProps) {
  const { id, name, email, disabled, credit } = listed
  const held = credit.backed.held + credit.free.held
  const lastAt = listed.last_request_at == null ? null : new Date(listed.last_request_at)
  return (
    <tr className={disabled ? 'dim' : ''}>
      <td className="name">
        <Link className="hover:underline" to="/operator/accounts/$account" params={{ account: id }}>
          <b title={name}>{name}</b>
        </Link>
        <span className="two" title={email ?? id}>
          {email ?? id}
        </span>
      </td>
      <td className="num">
        {credit.backed.balance < 0 ? (
          <>
            <span className="neg">{money(credit.backed.balance)}</span>
            <span className="two neg">owes {money(-credit.backed.balance)}</span>
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
      <td className="num hide-s">
        {figures == null ? <span className="dimmed">–</span> : money(figures.charge)}
      </td>
      <td className="num nowrap hide-s">
        {figures == null ? <span className="dimmed">–</span> : <Margin figures={figures} />}
      </td>
      <td>
        <span className={`chip ${disabled ? 'bad' : 'good'}`}>
          {disabled ? 'Suspended' : 'Active'}
        </span>
      </td>
      <td className="hide-s hide-m text-ink-2">
        {lastAt === null ? (
          <span className="dimmed">none</span>
        ) : (
          <Time at={lastAt}>{ago(lastAt, new Date())}</Time>
        )}
      </td>
      <td className="only-s num dimmed">
        {figures === undefined
          ? ''
          : figures === null
            ? 'nothing charged'
            : `${money(figures.charge)} charged`}
      </td>
    </tr>
  )
}
