import { currentTime } from '../../api/clock.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndShortMinute } from '../../format/time.ts'
import { clientOf } from '../../parts/client-lines.ts'
import { CodeLines } from '../../parts/code-lines.tsx'
import { GreyRows, Heads } from '../../parts/list-card.tsx'
import { Prose } from '../../parts/prose.tsx'
import { Empty, Failed, Stale } from '../../parts/states.tsx'
import { useExampleModel } from '../../parts/use-models.ts'
import { useMe } from '../../shell/use-account.ts'
import { RequestRow, requestHeads } from './request-row.tsx'
import type { KeyNameOf } from './request-words.ts'
import { type ActivityRange, type ActivitySearch, rangeOf } from './search.ts'
import { SoFar, Summary } from './summary.tsx'
import {
  type RequestSource,
  type useActivity,
  useFreshIds,
  useIsAllAccounts,
  useSummary,
} from './use-activity.ts'

interface RequestListProps {
  readonly activity: ReturnType<typeof useActivity>
  readonly search: ActivitySearch
  readonly isLive: boolean
  readonly source: RequestSource
  readonly keyNameOf: KeyNameOf
  readonly onOpen: (requestId: string) => void
  readonly onOlder: () => void
  readonly onRange: (range: ActivityRange) => void
  /** Removes all filters but the range. */
  readonly onClear: () => void
}

/** Counts, columns by time and rows of what matches. */
export function RequestList(props: RequestListProps) {
  const { activity, search, isLive, source, keyNameOf, onOpen } = props
  const { newest, rows } = activity
  const summary = useSummary(source, search, newest.data)
  const fresh = useFreshIds(newest.data)
  const isAllAccounts = useIsAllAccounts()
  if (newest.data === undefined && newest.isError) {
    return (
      <section className="card">
        <Failed what="The requests could not be loaded." query={newest} />
      </section>
    )
  }
  const isEmpty = newest.data !== undefined && rows.length === 0
  const heads = requestHeads({ isForOperators: source.as === 'operator', isAllAccounts })
  return (
    <section
      className="card overflow-hidden"
      aria-label="Requests"
      aria-busy={newest.data === undefined}
    >
      {(isLive || activity.older.data === undefined) && <Stale query={newest} />}
      {!isEmpty &&
        (summary === null ? <Found {...props} /> : <Summary query={summary} onOpen={onOpen} />)}
      {isEmpty ? (
        <NoRequests {...props} />
      ) : (
        <table
          className={isAllAccounts ? 'cards requests of-all' : 'cards requests'}
          aria-label="Requests"
        >
          <Heads heads={heads} />
          {newest.data === undefined ? (
            <GreyRows rows={10} heads={heads} />
          ) : (
            <tbody>
              {rows.map((request) => (
                <RequestRow
                  key={request.id}
                  request={request}
                  keyName={keyNameOf(request) ?? `key …${request.key_id.slice(-6)}`}
                  isAllAccounts={isAllAccounts}
                  search={search}
                  isOpen={request.id === search.request}
                  isFresh={isLive && fresh.has(request.id)}
                  onOpen={onOpen}
                />
              ))}
            </tbody>
          )}
        </table>
      )}
      {newest.data !== undefined && (!isEmpty || activity.hasOlder) && <Pager {...props} />}
    </section>
  )
}

function Found({ activity: { newest, hasOlder, rows, searchedBackTo } }: RequestListProps) {
  const oldest = searchedBackTo ?? rows.at(-1)?.opened_at
  if (newest.data === undefined) return null
  const backTo = hasOlder && oldest !== undefined ? new Date(oldest) : null
  return <SoFar requests={rows.length} backTo={backTo} />
}

function Pager({ activity, isLive, onOlder }: RequestListProps) {
  const { hasOlder, older, rows, searchedBackTo } = activity
  const back =
    searchedBackTo === null
      ? ''
      : `, back to ${dayAndShortMinute(new Date(searchedBackTo), currentTime())}`
  const count = counted(rows.length, 'request') + back
  return (
    <footer className="pager">
      <span>{isLive ? `Newest first, ${count}` : `${count}, paused`}</span>
      {older.isError && (
        <span className="text-bad">
          <Prose text={older.error.message} />
        </span>
      )}
      {hasOlder && (
        <button
          type="button"
          className="btn"
          aria-disabled={older.isFetching}
          onClick={() => {
            if (!older.isFetching) onOlder()
          }}
        >
          {older.isError
            ? 'Try again'
            : searchedBackTo === null
              ? 'Older requests'
              : 'Search further'}
        </button>
      )}
    </footer>
  )
}

function NoRequests({ activity, search, source, onRange, onClear }: RequestListProps) {
  const { range: _, from: __, to: ___, request: ____, ...filters } = search
  const range = rangeOf(search)
  const isAll = range.kind === 'moving' && range.range === 'all'
  if (activity.hasOlder) {
    return (
      <Empty title="No request matches so far.">
        <p>Few requests match. Still searching earlier requests.</p>
      </Empty>
    )
  }
  const allTime = isAll ? null : (
    <button type="button" className="btn" onClick={() => onRange({ kind: 'moving', range: 'all' })}>
      Show all time
    </button>
  )
  if (Object.keys(filters).length > 0) {
    return (
      <Empty title="No requests match these filters.">
        <div className="flex flex-wrap gap-2">
          <button type="button" className="btn" onClick={onClear}>
            Clear filters
          </button>
          {allTime}
        </div>
      </Empty>
    )
  }
  return (
    <Empty title={isAll ? 'No requests yet.' : 'No requests in this period.'}>
      <p>Requests appear here as soon as they start.</p>
      {source.as === 'member' && <FirstRequest />}
      {allTime}
    </Empty>
  )
}

function FirstRequest() {
  const { base_url: baseUrl } = useMe()
  const model = useExampleModel()
  return <CodeLines lines={clientOf('curl').lines({ baseUrl, model })} />
}
