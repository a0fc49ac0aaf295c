import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Balance, Entry, Page } from '../../api/answers.ts'
import { read, withQuery } from '../../api/client.ts'
import { balanceQuery } from '../../api/queries.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndMinute, dayOf, listTime } from '../../format/time.ts'
import { Empty, Failed, Grey, GreyRows, Stale } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useAccountId } from '../../shell/use-account.ts'

/** The purses of an account and the entries that they are the sums of. */
export function CreditScreen() {
  useTitle('Credit')
  const query = useQuery({ ...balanceQuery(useAccountId()), refetchInterval: 15_000 })
  return (
    <>
      <div className="top">
        <h1>Credit</h1>
      </div>
      {query.data === undefined && query.isError ? (
        <section className="card mb-4">
          <Failed
            what="The balance could not be read."
            error={query.error}
            onRetry={() => query.refetch()}
          />
        </section>
      ) : (
        <section className="card mb-4 overflow-hidden" aria-label="Purses">
          <Stale query={query} />
          {query.data === undefined ? (
            <div className="p-5">
              <Grey width="60%" height={60} />
            </div>
          ) : (
            <Purses balance={query.data} />
          )}
        </section>
      )}
      <Entries />
    </>
  )
}

function Purses({ balance: { credit, unresolved } }: { balance: Balance }) {
  const { backed, free } = credit
  const ends = free.expires_at === null ? null : new Date(free.expires_at)
  const next = unresolved.next_release_at
  return (
    <div className="stats">
      <div className="stat">
        <h2 className="lab">Backed credit</h2>
        <b>{money(backed.available)}</b>
        <p>
          of {money(backed.balance)}, {money(backed.held)} held
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Free credit</h2>
        <b>{money(free.available)}</b>
        <p>
          {ends === null || free.balance === 0
            ? 'none was given'
            : `until ${dayOf(ends, new Date())}, for open-weight text models`}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Unresolved</h2>
        <b>{money(unresolved.held)}</b>
        <p>
          {unresolved.requests === 0 || next === null
            ? 'no request waits for its cost'
            : `${counted(unresolved.requests, 'request')}, released by ${dayAndMinute(new Date(next))}`}
        </p>
      </div>
    </div>
  )
}

const ROWS = 50

function Entries() {
  const accountId = useAccountId()
  const query = useInfiniteQuery({
    queryKey: ['entries', accountId],
    queryFn: ({ pageParam, signal }) =>
      read<Page<Entry>>(
        withQuery(`accounts/${accountId}/entries`, { limit: ROWS, cursor: pageParam }),
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
  const entries = query.data?.pages.flatMap(({ data }) => data)
  return (
    <section className="card overflow-hidden" aria-label="Entries" aria-busy={query.isPending}>
      <header className="pb-3">
        <h2>Entries</h2>
      </header>
      {entries === undefined && query.isError ? (
        <Failed
          what="The entries could not be read."
          error={query.error}
          onRetry={() => query.refetch()}
        />
      ) : entries?.length === 0 ? (
        <Empty title="No entries yet">
          <p>Credit that is added and charges of requests stand here, each with its amount.</p>
        </Empty>
      ) : (
        <EntryTable entries={entries} />
      )}
      {query.hasNextPage && (
        <footer className="pager">
          <span>{counted(entries?.length ?? 0, 'entry').replace('entrys', 'entries')}</span>
          <button
            type="button"
            className="btn"
            disabled={query.isFetching}
            onClick={() => query.fetchNextPage()}
          >
            Older entries
          </button>
        </footer>
      )}
    </section>
  )
}

function EntryTable({ entries }: { entries: readonly Entry[] | undefined }) {
  return (
    <table className="cards">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col" className="num">
            Amount
          </th>
          <th scope="col">For</th>
          <th scope="col">Purse</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      {entries === undefined ? (
        <GreyRows rows={8} columns={5} />
      ) : (
        <tbody>
          {entries.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </tbody>
      )}
    </table>
  )
}

function EntryRow({ entry }: { entry: Entry }) {
  const account = useAccountId()
  const at = new Date(entry.created_at)
  const { request_id: request, reference, amount: amountMicros } = entry
  return (
    <tr>
      <td>
        <b>{wordOf(entry)}</b>
      </td>
      <td className="num">
        {amountMicros > 0 && '+'}
        {money(amountMicros, 4)}
      </td>
      <td className="mono">
        {request === null ? (
          reference
        ) : (
          <Link
            className="hover:underline"
            to="/$account/activity"
            params={{ account }}
            search={{ request }}
          >
            {request}
          </Link>
        )}
      </td>
      <td className="hide-s text-ink-2">{entry.purse}</td>
      <td className="text-ink-2">
        <Time at={at}>{listTime(at, new Date())}</Time>
      </td>
    </tr>
  )
}

/** `free_grant` as a person writes it: Free grant. */
function wordOf({ kind }: Entry): string {
  const words = kind.replaceAll('_', ' ')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
