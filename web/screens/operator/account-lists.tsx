import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ActivityRequest, ApiKey, Entry, Member, Page } from '../../api/answers.ts'
import {
  accountEntriesQuery,
  accountKeysQuery,
  accountMembersQuery,
  accountRequestsQuery,
} from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { ago, dayOf, listTime } from '../../format/time.ts'
import { type Head, ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { requestWord } from '../activity/request-words.ts'
import { keyState } from '../keys/key-state.ts'

interface ShortListProps<Row> {
  readonly title: string
  readonly query: UseQueryResult<Pick<Page<Row>, 'data'>>
  readonly heads: readonly Head[]
  readonly empty: { readonly title: string; readonly text: string }
  /** The account's own page of it. Default: it has none. */
  readonly more?: ReactNode
  readonly row: (row: Row) => ReactNode
}

function ShortList<Row>({ title, query, heads, empty, more, row }: ShortListProps<Row>) {
  return (
    <ListCard
      label={title}
      header={
        <header className="pb-2">
          <h2>{title}</h2>
          {more}
        </header>
      }
      query={query}
      rows={query.data?.data}
      failed={`The ${title.toLowerCase()} could not be read.`}
      empty={
        <Empty title={empty.title}>
          <p>{empty.text}</p>
        </Empty>
      }
      heads={heads}
      greyRows={3}
      row={row}
    />
  )
}

/** The newest keys of an account. */
export function AccountKeys({ accountId }: { accountId: string }) {
  const now = useNow()
  const query = useQuery(accountKeysQuery(accountId))
  return (
    <ShortList<ApiKey>
      title="Keys"
      query={query}
      heads={[
        { text: 'Key' },
        { text: 'State' },
        { text: 'Spent', className: 'num' },
        { text: 'Held', className: 'num hide-m' },
        { text: 'Last used' },
      ]}
      empty={{
        title: 'No keys yet',
        text: 'Create a key here, or ask an owner of the account to.',
      }}
      more={
        <Link to="/$account/keys" params={{ account: accountId }}>
          All its keys
        </Link>
      }
      row={(apiKey) => {
        const { word, tone } = keyState(apiKey, now)
        const usedAt = apiKey.last_used_at === null ? null : new Date(apiKey.last_used_at)
        return (
          <tr key={apiKey.id}>
            <td>
              <b>{apiKey.name}</b>
              <span className="two mono">{apiKey.prefix}</span>
            </td>
            <td>
              <span className={`chip ${tone}`}>{word}</span>
            </td>
            <td className="num wide">
              {money(apiKey.spend)}
              {apiKey.credit_limit !== null && (
                <span className="dimmed"> of {money(apiKey.credit_limit)}</span>
              )}
            </td>
            <td className="num hide-s hide-m">
              {apiKey.held === 0 ? <span className="dimmed">–</span> : money(apiKey.held)}
            </td>
            <td className="hide-s text-ink-2">
              {usedAt === null ? (
                <span className="dimmed">never</span>
              ) : (
                <Time at={usedAt}>{ago(usedAt, now)}</Time>
              )}
            </td>
          </tr>
        )
      }}
    />
  )
}

/** The people who open an account's pages. */
export function AccountMembers({ accountId }: { accountId: string }) {
  const now = useNow()
  const query = useQuery(accountMembersQuery(accountId))
  return (
    <ShortList<Member>
      title="Members"
      query={query}
      heads={[{ text: 'Member' }, { text: 'Role' }, { text: 'Joined' }]}
      empty={{
        title: 'No members yet',
        text: 'Invite a person by a link: tollgate user invite <email> --account <id>.',
      }}
      more={
        <Link to="/$account/members" params={{ account: accountId }}>
          Invite and change
        </Link>
      }
      row={({ user_id: id, name, email, role, joined_at: joined }) => {
        const joinedAt = new Date(joined)
        return (
          <tr key={id}>
            <td>
              <b>{name}</b>
              <span className="two break-all">{email}</span>
            </td>
            <td className="text-ink-2">{role}</td>
            <td className="text-ink-2">
              <span className="only-s dimmed">Joined </span>
              <Time at={joinedAt}>{dayOf(joinedAt, now)}</Time>
            </td>
          </tr>
        )
      }}
    />
  )
}

/** The newest requests of an account. */
export function AccountRequests({ accountId: account }: { accountId: string }) {
  const query = useQuery(accountRequestsQuery(account))
  return (
    <ShortList<ActivityRequest>
      title="Requests"
      query={query}
      heads={[
        { text: 'Model' },
        { text: 'Charge', className: 'num' },
        { text: 'State' },
        { text: 'Time' },
      ]}
      empty={{ title: 'No requests yet', text: 'Requests appear here as soon as they start.' }}
      more={
        <Link to="/$account/activity" params={{ account }}>
          All its requests
        </Link>
      }
      row={(request) => {
        const { word, tone } = requestWord(request)
        const openedAt = new Date(request.opened_at)
        return (
          <tr key={request.id}>
            <td className="model">
              <Link
                className="hover:underline"
                to="/$account/activity"
                params={{ account }}
                search={{ range: 'all', request: request.id }}
              >
                <ModelName id={request.model} />
              </Link>
            </td>
            <td className="num">
              {request.held > 0 ? (
                <span className="dimmed">held {money(request.held, 4)}</span>
              ) : (
                money(request.charge, 4)
              )}
            </td>
            <td>
              <span className={`chip ${tone}`}>{word}</span>
            </td>
            <td className="text-ink-2">
              <Time at={openedAt}>{listTime(openedAt, new Date())}</Time>
            </td>
          </tr>
        )
      }}
    />
  )
}

/** The newest entries of an account. */
export function AccountEntries({ accountId: account }: { accountId: string }) {
  const query = useQuery(accountEntriesQuery(account))
  return (
    <ShortList<Entry>
      title="Entries"
      query={query}
      heads={[
        { text: 'Entry' },
        { text: 'Amount', className: 'num' },
        { text: 'For' },
        { text: 'Time' },
      ]}
      empty={{
        title: 'No entries yet',
        text: 'Add credit, and it appears here with its reference.',
      }}
      more={
        <Link to="/$account/credit" params={{ account }}>
          All its entries
        </Link>
      }
      row={(entry) => {
        const at = new Date(entry.created_at)
        const words = entry.kind.replaceAll('_', ' ')
        return (
          <tr key={entry.id}>
            <td>
              <b>{words.slice(0, 1).toUpperCase() + words.slice(1)}</b>
              {entry.purse === 'free' && <span className="dimmed"> free</span>}
            </td>
            <td className="num">
              {entry.amount > 0 && '+'}
              {money(entry.amount, 4)}
            </td>
            <td className="mono break-all">{entry.reference ?? entry.request_id}</td>
            <td className="text-ink-2">
              <Time at={at}>{listTime(at, new Date())}</Time>
            </td>
          </tr>
        )
      }}
    />
  )
}
