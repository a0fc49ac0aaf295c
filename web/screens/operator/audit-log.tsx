import { type UseInfiniteQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { type DateRange, readDateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import { COMMAND_LINE, GATEWAY } from '../../../src/vocabulary/recorded-operation.ts'
import { hrefOf } from '../../api/calls.ts'
import {
  type ActionFilter,
  actionFields,
  actionsQuery,
  type OperatorAction,
  tokensQuery,
  usersQuery,
} from '../../api/operator.ts'
import { listTime } from '../../format/time.ts'
import { CsvLink } from '../../parts/buttons.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { type Option, PickMany } from '../../parts/pick.tsx'
import { PickAccount } from '../../parts/pick-account.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { operatorSpanOf } from '../../shell/use-span.ts'
import { ActionAmount, ActionText, useActors } from './action-cells.tsx'
import { ACTION_FIELDS, ACTION_KINDS, namesakes } from './action-words.ts'
import type { AuditLogSearch } from './search.ts'

const route = getRouteApi('/operator/audit-log')

/** Every change by operators and admin tokens, and sign-ins of operators, newest first: by time, person, account, kind and field. */
export function AuditLogScreen() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const range = readDateRange(search) ?? ALL_TIME
  const filter = filterOf(search)
  const change = (part: AuditLogSearch) =>
    void navigate({ search: { ...search, ...part }, resetScroll: false })
  return (
    <>
      <ScreenTop title="Audit log">
        <RangePicker
          range={range}
          compare={null}
          spanOf={operatorSpanOf}
          onChange={(picked) => {
            const { range: _, from: __, to: ___, ...others } = search
            const isAll = picked.range.kind === 'moving' && picked.range.range === 'all'
            void navigate({
              search: { ...others, ...(isAll ? {} : searchOf(picked.range)) },
              resetScroll: false,
            })
          }}
        />
        <CsvLink
          href={hrefOf('operator', 'listOperatorActions', {
            ...actionFields(filter),
            format: 'csv',
          })}
          name="audit-log.csv"
        />
      </ScreenTop>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <div className="filters" role="group" aria-label="Filters">
        <PickPeople picked={search.by ?? []} onChange={(by) => change({ by })} />
        <PickAccount accountId={search.account} onChange={(account) => change({ account })} />
        <PickMany
          label="Kind"
          options={ACTION_KINDS}
          picked={search.kind ?? []}
          onChange={(kind) => change({ kind })}
        />
        <PickMany
          label="Field"
          options={ACTION_FIELDS}
          picked={search.field ?? []}
          onChange={(field) => change({ field })}
        />
      </div>
      <Actions search={search} onClear={() => void navigate({ search: {}, replace: true })} />
    </>
  )
}

const ALL_TIME: DateRange = { kind: 'moving', range: 'all' }

/** The filter of an address. All time has no bounds: the log can be older than a report. */
function filterOf(search: AuditLogSearch): ActionFilter {
  const { account, by, kind, field } = search
  const range = readDateRange(search)
  const isAll = range === null || (range.kind === 'moving' && range.range === 'all')
  return { account, by, kind, field, span: isAll ? undefined : operatorSpanOf(range) }
}

const SETTINGS_TOKEN = 'ADMIN_API_TOKEN'

/** Operators and admin tokens, also those that are no longer there but picked. */
function PickPeople(props: {
  readonly picked: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}) {
  const listed = useQuery(usersQuery)
  const users = (listed.data?.data ?? []).filter((user) => user.is_operator)
  const shared = namesakes(users)
  const listedTokens = useInfiniteQuery(tokensQuery)
  useWholeList(listedTokens)
  const tokens = listedTokens.data?.pages.flatMap(({ data }) => data) ?? []
  const options: readonly Option[] = [
    ...users.map(({ id, name, email }) => ({
      value: id,
      text: shared.has(id) ? `${name}, ${email}` : name,
    })),
    ...tokens.map(({ id, name }) => ({ value: id, text: `token ${name}` })),
    { value: SETTINGS_TOKEN, text: `token ${SETTINGS_TOKEN}` },
    { value: COMMAND_LINE, text: COMMAND_LINE },
    { value: GATEWAY, text: GATEWAY },
  ]
  const unlisted = props.picked.filter((id) => options.every(({ value }) => value !== id))
  const all = [...options, ...unlisted.map((id) => ({ value: id, text: id }))]
  // Of a list that ends too early, some are missing.
  const { isFetchNextPageError: isCut } = listedTokens
  const readTokens = isCut ? { ...listedTokens, data: undefined } : listedTokens
  const reads = { 'The operators': listed, 'The admin tokens': readTokens }
  return <PickMany label="Person" options={all} reads={reads} {...props} />
}

/** Reads all pages of a list, one after the other. */
function useWholeList(list: UseInfiniteQueryResult): void {
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = list
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page that came at once changes only the data
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [data, hasNextPage, isFetching, isError, fetchNextPage])
}

const HEADS = [
  { text: 'Change' },
  { text: 'Account', className: 'hide-t' },
  { text: 'Amount', className: 'num' },
  { text: 'By', className: 'hide-t' },
  { text: 'Time' },
] as const

function Actions({ search, onClear }: { search: AuditLogSearch; onClear: () => void }) {
  const query = useInfiniteQuery(actionsQuery(filterOf(search)))
  const rows = query.data?.pages.flatMap(({ data }) => data)
  const actorOf = useActors(rows)
  const isFiltered = Object.values(search).some((value) => value !== undefined)
  return (
    <ListCard
      label="Audit log"
      query={query}
      rows={rows}
      empty={
        isFiltered ? (
          <Empty title="No changes match these filters.">
            <button type="button" className="btn" onClick={onClear}>
              Clear filters
            </button>
          </Empty>
        ) : (
          <Empty title="No changes recorded yet.">
            <p>Changes made by operators, and their sign-ins, appear here.</p>
          </Empty>
        )
      }
      heads={HEADS}
      greyRows={8}
      row={(action) => <ActionRow key={action.id} action={action} by={actorOf(action)} />}
    >
      <Older query={query} noun="change" />
    </ListCard>
  )
}

function ActionRow({ action, by }: { action: OperatorAction; by: string }) {
  const { account_id: id, account_name: name } = action
  return (
    <tr>
      <td className="wide wrap-anywhere">
        <ActionText action={action} accountId={id} />
        <span className="two only-t">
          {id !== null && (
            <>
              <AccountLink id={id} name={name} />,{' '}
            </>
          )}
          by {by}
        </span>
      </td>
      <td className="name part hide-t" title={name ?? id ?? undefined}>
        {id === null ? (
          <span className="dimmed hide-s">–</span>
        ) : (
          <AccountLink id={id} name={name} />
        )}
      </td>
      <ActionAmount action={action} />
      <td className="name part hide-t text-ink-2" title={by}>
        {by}
      </td>
      <td className="end text-ink-2">
        <Time at={action.created_at} show={listTime} />
      </td>
    </tr>
  )
}

function AccountLink({ id, name }: { id: string; name: string | null }) {
  return (
    <Link className="hover:underline" to="/operator/accounts/$account" params={{ account: id }}>
      {name ?? id}
    </Link>
  )
}
