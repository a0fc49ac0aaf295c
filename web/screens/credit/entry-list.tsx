import { useInfiniteQuery } from '@tanstack/react-query'
import type { StatementLine } from '../../api/answers.ts'
import { callAs } from '../../api/calls.ts'
import { pagesQuery } from '../../api/queries.ts'
import { count } from '../../format/numbers.ts'
import { listTime } from '../../format/time.ts'
import { type Head, ListCard, Older } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountCaller } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { balanceText, changeText } from './change-text.ts'
import { EntryWord, Origin, ReceiptLink, Reference } from './entry-words.tsx'
import { ListHeader, type ListProps } from './list-header.tsx'

const HEADS: readonly Head[] = [
  { text: 'Entry' },
  { text: 'For' },
  { text: 'Time', className: 'hide-t' },
  { text: 'Amount', className: 'num' },
  { text: 'Balance', className: 'num' },
]

/** Every change of the credit in the range, with the balance after it. */
export function EntryList(list: ListProps) {
  const accountId = useAccountId()
  const as = useAccountCaller()
  const { moments } = list
  const asked = { account_id: accountId, ...moments }
  const query = useInfiniteQuery(
    pagesQuery(['entries', accountId, 'entries', as, moments], (page, signal) =>
      callAs(as)('listEntries', { ...asked, ...page }, signal),
    ),
  )
  const rows = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard<StatementLine>
      label="Entries"
      header={<ListHeader {...list} />}
      query={query}
      rows={rows}
      empty={
        <Empty title="No entries in this period.">
          <p>Top-ups and charges appear here, each with the balance after it.</p>
        </Empty>
      }
      heads={HEADS}
      greyRows={8}
      row={(entry) => <EntryRow key={entry.id} entry={entry} />}
    >
      <Older
        query={query}
        noun="entry"
        shown={`The newest ${count(rows?.length ?? 0)}`}
        text="Older entries"
      />
    </ListCard>
  )
}

function EntryRow({ entry }: { entry: StatementLine }) {
  const time = <Time at={entry.created_at} show={listTime} />
  const amount = changeText(entry)
  return (
    <tr>
      <td className="nowrap">
        <EntryWord entry={entry} />
        <span className="two only-t">{time}</span>
      </td>
      <td className="only-s num">
        <b>{amount}</b>
      </td>
      <td className="mono hide-s w-[38%] max-w-0 truncate">
        <Origin entry={entry} />
      </td>
      <td className="hide-s hide-t nowrap text-ink-2">{time}</td>
      <td className="only-s dimmed wrap-anywhere">
        {time}
        {entry.request_id === null && entry.reference !== null && (
          <>
            {' '}
            · <Reference entry={entry} />
          </>
        )}{' '}
        <ReceiptLink entry={entry} />
      </td>
      <td className="num hide-s">{amount}</td>
      <td className="num text-ink-2">
        <span className="only-s dimmed">balance </span>
        {balanceText(entry)}
      </td>
    </tr>
  )
}
