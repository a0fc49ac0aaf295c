import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Account, StatementLine } from '../../api/answers.ts'
import { accountEntriesQuery, oneAccountQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { dayOf, listTime } from '../../format/time.ts'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty, Grey } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId } from '../../shell/use-account.ts'

/** The credit of an account, for operators: both purses, and every entry with the balance after it. */
export function AccountCredit() {
  useTitle('Credit')
  const accountId = useAccountId()
  const { data: account } = useQuery(oneAccountQuery(accountId))
  return (
    <>
      <section className="card mb-4 overflow-hidden" aria-label="Purses">
        {account === undefined ? (
          <div className="p-5">
            <Grey width="60%" height={60} />
          </div>
        ) : (
          <Purses account={account} />
        )}
      </section>
      <Entries accountId={accountId} />
    </>
  )
}

function Purses({ account: { credit, has_backed_credit: hasBacked } }: { account: Account }) {
  const now = useNow()
  const { backed, free } = credit
  const held = backed.held + free.held
  return (
    <div className="stats">
      <div className="stat">
        <h2 className="lab">Paid credit</h2>
        <b className={backed.balance < 0 ? 'neg' : ''}>
          {money(backed.balance < 0 ? backed.balance : backed.available)}
        </b>
        <p>
          {hasBacked ? `available of a balance of ${money(backed.balance)}` : 'none was ever added'}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Free credit</h2>
        <b>{money(free.available)}</b>
        <p>
          {free.expires_at === null || free.balance === 0
            ? 'none is left'
            : `expires ${dayOf(new Date(free.expires_at), now)}`}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Held</h2>
        <b>{money(held)}</b>
        <p>{held === 0 ? 'no running requests' : 'by requests that are not settled'}</p>
      </div>
    </div>
  )
}

const HEADS = [
  { text: 'Entry' },
  { text: 'For', className: 'hide-m' },
  { text: 'Time' },
  { text: 'Amount', className: 'num' },
  { text: 'Balance', className: 'num' },
] as const

function Entries({ accountId }: { readonly accountId: string }) {
  const query = useInfiniteQuery(accountEntriesQuery(accountId))
  const entries = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard<StatementLine>
      label="Entries"
      header={
        <header className="pb-2">
          <h2>Entries</h2>
          <Link to="/operator/audit-log" search={{ account: accountId }}>
            Changes by operators
          </Link>
        </header>
      }
      query={query}
      rows={entries}
      failed="The entries could not be loaded."
      empty={
        <Empty title="No entries yet">
          <p>Add credit, and it appears here with its reference.</p>
        </Empty>
      }
      heads={HEADS}
      greyRows={6}
      row={(entry) => <EntryRow key={entry.id} entry={entry} />}
    >
      <Older
        query={query}
        shown={`The newest ${count(entries?.length ?? 0)}`}
        text="Older entries"
      />
    </ListCard>
  )
}

function EntryRow({ entry }: { readonly entry: StatementLine }) {
  const at = new Date(entry.created_at)
  const words = entry.kind.replaceAll('_', ' ')
  return (
    <tr>
      <td>
        <b>{words.slice(0, 1).toUpperCase() + words.slice(1)}</b>
        {entry.purse === 'free' && <span className="dimmed"> free</span>}
      </td>
      <td className="mono hide-s hide-m break-all">
        {entry.reference ?? <EntryRequest entry={entry} />}
      </td>
      <td className="hide-s text-ink-2">
        <Time at={at}>{listTime(at, new Date())}</Time>
      </td>
      <td className="num">
        {entry.amount > 0 && '+'}
        {money(entry.amount, 4)}
      </td>
      <td className="only-s dimmed">
        <Time at={at}>{listTime(at, new Date())}</Time>
        {entry.reference !== null && ` · ${entry.reference}`}
      </td>
      <td className="num text-ink-2">
        <span className="only-s dimmed">left </span>
        {money(entry.balance, 4)}
      </td>
    </tr>
  )
}

interface EntryRequestProps {
  readonly entry: StatementLine
}

/** The request of a charge, opened in Activity. */
function EntryRequest({ entry: { account_id: account, request_id: id } }: EntryRequestProps) {
  if (id === null) return <span className="dimmed">–</span>
  return (
    <Link
      className="hover:underline"
      to="/operator/accounts/$account/activity"
      params={{ account }}
      search={{ range: 'all', request: id }}
    >
      {id}
    </Link>
  )
}
