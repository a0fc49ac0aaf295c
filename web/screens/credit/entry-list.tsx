import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Entry, EntryPage, Purchase, StatementLine } from '../../api/answers.ts'
import { read, withQuery } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { listTime } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, Failed, GreyRows } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountId } from '../../shell/use-account.ts'

const LISTS = [
  { value: 'entries', text: 'Entries' },
  { value: 'purchases', text: 'Purchases' },
] as const

type List = (typeof LISTS)[number]['value']

interface EntryListProps {
  readonly list: List
  readonly onList: (list: List) => void
}

const ROWS = 50

/** Every change of the credit with the balance after it, or what was bought and redeemed alone. */
export function EntryList({ list, onList }: EntryListProps) {
  const accountId = useAccountId()
  const query = useInfiniteQuery({
    queryKey: ['entries', accountId, list],
    queryFn: ({ pageParam, signal }) =>
      read<EntryPage>(
        withQuery(`accounts/${accountId}/${list}`, { limit: ROWS, cursor: pageParam }),
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
  const rows = query.data?.pages.flatMap(({ data }) => data)
  const pending = query.data?.pages[0]?.pending ?? []
  return (
    <section className="card overflow-hidden" aria-label="Entries" aria-busy={query.isPending}>
      <header className="flex-wrap">
        <Segments label="List" options={LISTS} value={list} onChange={onList} />
        {list === 'entries' && (
          <a
            className="btn ml-auto"
            href={`/app/api/accounts/${accountId}/entries.csv`}
            download="entries.csv"
          >
            <Icon name="download" small />
            CSV
          </a>
        )}
      </header>
      {rows === undefined && query.isError ? (
        <Failed
          what={`The ${list} could not be read.`}
          error={query.error}
          onRetry={() => query.refetch()}
        />
      ) : rows?.length === 0 && pending.length === 0 ? (
        <Nothing list={list} />
      ) : (
        <Table rows={rows} pending={pending} hasBalance={list === 'entries'} />
      )}
      {query.hasNextPage && (
        <footer className="pager">
          <span>The newest {count(rows?.length ?? 0)}</span>
          {query.isFetchNextPageError && <span className="text-bad">{query.error.message}</span>}
          <button
            type="button"
            className="btn"
            disabled={query.isFetching}
            onClick={() => query.fetchNextPage()}
          >
            {query.isFetchNextPageError ? 'Try again' : 'Older ones'}
          </button>
        </footer>
      )}
    </section>
  )
}

function Nothing({ list }: Pick<EntryListProps, 'list'>) {
  return list === 'entries' ? (
    <Empty title="No entries yet">
      <p>
        Credit that is added and charges of requests stand here, each with the balance after it.
      </p>
    </Empty>
  ) : (
    <Empty title="Nothing was bought yet">
      <p>Credit that was bought, and codes that were redeemed, stand here.</p>
    </Empty>
  )
}

interface TableProps {
  /** Undefined: the answer is not there yet. */
  readonly rows: readonly (Entry | StatementLine)[] | undefined
  /** Purchases that may still become credit. */
  readonly pending: readonly Purchase[]
  readonly hasBalance: boolean
}

function Table({ rows, pending, hasBalance }: TableProps) {
  return (
    <table className="cards">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col">For</th>
          <th scope="col">Time</th>
          <th scope="col" className="num">
            Amount
          </th>
          {hasBalance && (
            <th scope="col" className="num">
              Balance
            </th>
          )}
        </tr>
      </thead>
      {rows === undefined ? (
        <GreyRows rows={8} columns={hasBalance ? 5 : 4} />
      ) : (
        <tbody>
          {pending.map((purchase) => (
            <PendingRow key={purchase.id} purchase={purchase} />
          ))}
          {rows.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </tbody>
      )}
    </table>
  )
}

function PendingRow({ purchase }: { purchase: Purchase }) {
  const at = new Date(purchase.created_at)
  const isHeld = purchase.state === 'held'
  return (
    <tr>
      <td>
        <b>{WORDS.purchase}</b>
        <span className={`chip ml-2 ${isHeld ? 'wait' : 'info'}`}>
          {isHeld ? 'Paid, being checked' : 'Not paid yet'}
        </span>
      </td>
      <td className="mono hide-s">{purchase.id}</td>
      <td className="hide-s text-ink-2">
        <Time at={at}>{listTime(at, new Date())}</Time>
      </td>
      <td className="num dimmed">{money(purchase.credit, 4)}</td>
    </tr>
  )
}

function EntryRow({ entry }: { entry: Entry | StatementLine }) {
  const at = new Date(entry.created_at)
  const time = <Time at={at}>{listTime(at, new Date())}</Time>
  const amount = `${entry.amount > 0 ? '+' : ''}${money(entry.amount, 4)}`
  return (
    <tr>
      <td>
        <b>{WORDS[entry.kind]}</b>
        {entry.purse === 'free' && !WORDS[entry.kind].startsWith('Free') && (
          <span className="dimmed"> free credit</span>
        )}
      </td>
      <td className="only-s num">
        <b>{amount}</b>
      </td>
      <td className="mono hide-s">
        <Origin entry={entry} />
      </td>
      <td className="hide-s text-ink-2">{time}</td>
      <td className="only-s dimmed">
        {time}
        {entry.request_id === null && entry.reference !== null && ` · ${entry.reference}`}
      </td>
      <td className="num hide-s">{amount}</td>
      {'balance' in entry && (
        <td className="num text-ink-2">
          <span className="only-s dimmed">left </span>
          {money(entry.balance, 4)}
        </td>
      )}
    </tr>
  )
}

/** The request that was charged, or the reference of credit. */
function Origin({ entry: { request_id: request, reference } }: { entry: Entry }) {
  const account = useAccountId()
  if (request === null) return <>{reference}</>
  return (
    <Link
      className="hover:underline"
      to="/$account/activity"
      params={{ account }}
      search={{ range: 'all', request }}
    >
      {request}
    </Link>
  )
}

const WORDS = {
  top_up: 'Credit added',
  activation: 'Code redeemed',
  purchase: 'Purchase',
  reversal: 'Purchase changed',
  grant: 'Free credit given',
  expiry: 'Free credit ended',
  charge: 'Charge',
  correction: 'Correction',
  chargeback: 'Taken back',
  write_off: 'Written off',
} as const satisfies Record<Entry['kind'], string>
