import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Entry, Page, StatementLine } from '../../api/answers.ts'
import { read, withQuery } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { listTime } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { type Head, ListCard, Older } from '../../parts/list-card.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
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

const HEADS: readonly Head[] = [
  { text: 'Entry' },
  { text: 'For' },
  { text: 'Time' },
  { text: 'Amount', className: 'num' },
]

/** Every change of the credit with the balance after it, or what was bought and redeemed alone. */
export function EntryList({ list, onList }: EntryListProps) {
  const accountId = useAccountId()
  const query = useInfiniteQuery({
    queryKey: ['entries', accountId, list],
    queryFn: ({ pageParam, signal }) =>
      read<Page<Entry | StatementLine>>(
        withQuery(`accounts/${accountId}/${list}`, { limit: ROWS, cursor: pageParam }),
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  })
  const rows = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard<Entry | StatementLine>
      label="Entries"
      header={
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
      }
      query={query}
      rows={rows}
      failed={`The ${list} could not be read.`}
      empty={<Nothing list={list} />}
      heads={list === 'entries' ? [...HEADS, { text: 'Balance', className: 'num' }] : HEADS}
      greyRows={8}
      row={(entry) => <EntryRow key={entry.id} entry={entry} />}
    >
      <Older query={query} shown={`The newest ${count(rows?.length ?? 0)}`} text="Older ones" />
    </ListCard>
  )
}

function Nothing({ list }: Pick<EntryListProps, 'list'>) {
  return list === 'entries' ? (
    <Empty title="No entries yet">
      <p>Top-ups and charges appear here, each with the balance after it.</p>
    </Empty>
  ) : (
    <Empty title="Nothing was bought yet">
      <p>Purchases and redeemed codes appear here.</p>
    </Empty>
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
      <td className="mono hide-s break-all">
        <Origin entry={entry} />
      </td>
      <td className="hide-s text-ink-2">{time}</td>
      <td className="only-s dimmed">
        {time}
        {entry.request_id === null && entry.reference !== null && ` · ${entry.reference}`}{' '}
        <ReceiptLink entry={entry} />
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

/** Of a purchase: its receipt. */
function ReceiptLink({ entry: { kind, reference } }: { entry: Entry }) {
  const account = useAccountId()
  if (kind !== 'purchase' || reference === null) return null
  return (
    <Link
      className="link font-sans"
      from="/$account/credit"
      to="/$account/credit"
      params={{ account }}
      search={(before) => ({ ...before, receipt: reference })}
      resetScroll={false}
    >
      Receipt
    </Link>
  )
}

/** The request that was charged, or the reference of credit. */
function Origin({ entry }: { entry: Entry }) {
  const { request_id: request, reference } = entry
  const account = useAccountId()
  if (request === null) {
    return (
      <>
        {reference} <ReceiptLink entry={entry} />
      </>
    )
  }
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
  chargeback: 'Credit removed',
  write_off: 'Written off',
} as const satisfies Record<Entry['kind'], string>
