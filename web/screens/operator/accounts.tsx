import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { accountsQuery, type ListedAccount } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Failed, GreyRows, Stale } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { CreateAccount } from './account-dialogs.tsx'

const route = getRouteApi('/$account/operator/accounts')

/** All accounts, for operators: what each has, holds and spends. */
export function AccountsScreen() {
  useTitle('Accounts')
  const { find = '', create = false } = route.useSearch()
  const navigate = route.useNavigate()
  const account = useAccountId()
  useShortcuts({ '/': () => document.getElementById('find')?.focus() })
  const change = (next: { find?: string; create?: true }) =>
    navigate({ search: next, replace: true, resetScroll: false })
  const searched = find === '' ? {} : { find }
  return (
    <>
      <div className="top">
        <h1>Accounts</h1>
        <button
          type="button"
          className="btn pri"
          onClick={() => change({ ...searched, create: true })}
        >
          <Icon name="plus" />
          Create account
        </button>
      </div>
      <div className="filters">
        <label className="find">
          <Icon name="search" small />
          <span className="vh">Name, e-mail address or id</span>
          <input
            id="find"
            type="search"
            value={find}
            placeholder="Find by name, e-mail or id"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            onChange={({ target: { value } }) => change(value === '' ? {} : { find: value })}
          />
          <kbd className="hide-s">/</kbd>
        </label>
      </div>
      <AccountTable find={find.trim()} />
      {create && (
        <CreateAccount
          onClose={() => change(searched)}
          onMade={({ id }) =>
            void navigate({
              to: '/$account/operator/accounts/$id',
              params: { account, id },
            })
          }
        />
      )}
    </>
  )
}

function AccountTable({ find }: { find: string }) {
  const query = useInfiniteQuery({ ...accountsQuery(find), refetchInterval: 30_000 })
  const accounts = query.data?.pages.flatMap(({ data }) => data)
  if (accounts === undefined && query.isError) {
    return (
      <section className="card">
        <Failed
          what="The accounts could not be read."
          error={query.error}
          onRetry={() => query.refetch()}
        />
      </section>
    )
  }
  if (accounts?.length === 0) {
    return (
      <section className="card">
        {find === '' ? (
          <Empty title="No accounts yet">
            <p>An account has credit and keys. Create one, and add credit to it.</p>
          </Empty>
        ) : (
          <Empty title="No account matches">
            <p>Look for a part of its name, its e-mail address or its id.</p>
          </Empty>
        )}
      </section>
    )
  }
  return (
    <section
      className="card overflow-hidden"
      aria-label="Accounts"
      aria-busy={accounts === undefined || query.isPlaceholderData}
    >
      <Stale query={query} />
      <table className="cards">
        <thead>
          <tr>
            <th scope="col">Account</th>
            <th scope="col" className="num">
              Available
            </th>
            <th scope="col" className="num hide-m">
              Held
            </th>
            <th scope="col" className="num">
              Spend, 30 d
            </th>
            <th scope="col">State</th>
            <th scope="col" className="hide-m">
              Created
            </th>
          </tr>
        </thead>
        {accounts === undefined ? (
          <GreyRows rows={10} columns={6} />
        ) : (
          <tbody>
            {accounts.map((each) => (
              <AccountRow key={each.id} listed={each} />
            ))}
          </tbody>
        )}
      </table>
      {accounts !== undefined && (
        <footer className="pager">
          <span>{counted(accounts.length, 'account')}, newest first</span>
          {query.hasNextPage && (
            <button
              type="button"
              className="btn"
              disabled={query.isFetching}
              onClick={() => query.fetchNextPage()}
            >
              Older accounts
            </button>
          )}
        </footer>
      )}
    </section>
  )
}

function AccountRow({ listed }: { listed: ListedAccount }) {
  const account = useAccountId()
  const { id, name, email, disabled, credit, recent_charge: spend = 0 } = listed
  const held = credit.backed.held + credit.free.held
  const createdAt = new Date(listed.created_at)
  return (
    <tr className={disabled ? 'dim' : ''}>
      <td>
        <Link
          className="hover:underline"
          to="/$account/operator/accounts/$id"
          params={{ account, id }}
        >
          <b>{name}</b>
        </Link>
        <span className="two break-all">{email ?? id}</span>
      </td>
      <td className="num">
        {money(credit.backed.available)}
        {credit.backed.balance < 0 && (
          <span className="two text-bad">owes {money(-credit.backed.balance)}</span>
        )}
        {credit.free.available > 0 && (
          <span className="two">{money(credit.free.available)} free</span>
        )}
      </td>
      <td className="num hide-s hide-m">
        {held === 0 ? <span className="dimmed">–</span> : money(held)}
      </td>
      <td className="num hide-s">
        {spend === 0 ? <span className="dimmed">–</span> : money(spend)}
      </td>
      <td>
        <span className={`chip ${disabled ? 'bad' : 'good'}`}>
          {disabled ? 'Suspended' : 'Enabled'}
        </span>
      </td>
      <td className="hide-s hide-m text-ink-2">
        <Time at={createdAt}>{dayOf(createdAt, new Date())}</Time>
      </td>
      <td className="only-s num dimmed">
        {spend === 0 ? 'no spend in 30 d' : `${money(spend)} in 30 d`}
      </td>
    </tr>
  )
}
