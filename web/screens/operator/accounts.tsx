import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { accountsQuery, type ListedAccount } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { CreateAccount } from './account-dialogs.tsx'

const route = getRouteApi('/operator/accounts')

/** All accounts, for operators: what each has, holds and spends. */
export function AccountsScreen() {
  useTitle('Accounts')
  const { find = '', create = false } = route.useSearch()
  const navigate = route.useNavigate()
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
          <span className="vh">Name, email address or id</span>
          <input
            id="find"
            type="search"
            value={find}
            placeholder="Find by name, email or id"
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
              to: '/operator/accounts/$id',
              params: { id },
            })
          }
        />
      )}
    </>
  )
}

const HEADS = [
  { text: 'Account' },
  { text: 'Available', className: 'num' },
  { text: 'Held', className: 'num hide-m' },
  { text: 'Spend, 30 d', className: 'num' },
  { text: 'State' },
  { text: 'Created', className: 'hide-m' },
] as const

function AccountTable({ find }: { find: string }) {
  const query = useInfiniteQuery({ ...accountsQuery(find), refetchInterval: 30_000 })
  const accounts = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard
      label="Accounts"
      query={query}
      rows={accounts}
      failed="The accounts could not be read."
      empty={
        find === '' ? (
          <Empty title="No accounts yet">
            <p>An account has credit and keys. Create one, and add credit to it.</p>
          </Empty>
        ) : (
          <Empty title="No account matches">
            <p>Look for a part of its name, its email address or its id.</p>
          </Empty>
        )
      }
      heads={HEADS}
      greyRows={10}
      row={(each) => <AccountRow key={each.id} listed={each} />}
    >
      <Older
        query={query}
        shown={`${counted(accounts?.length ?? 0, 'account')}, newest first`}
        text="Older accounts"
      />
    </ListCard>
  )
}

function AccountRow({ listed }: { listed: ListedAccount }) {
  const { id, name, email, disabled, credit, recent_charge: spend = 0 } = listed
  const held = credit.backed.held + credit.free.held
  const createdAt = new Date(listed.created_at)
  return (
    <tr className={disabled ? 'dim' : ''}>
      <td className="name">
        <Link className="hover:underline" to="/operator/accounts/$id" params={{ id }}>
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
        {spend === 0 ? <span className="dimmed">–</span> : money(spend)}
      </td>
      <td>
        <span className={`chip ${disabled ? 'bad' : 'good'}`}>
          {disabled ? 'Suspended' : 'Active'}
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
