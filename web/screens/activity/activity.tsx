import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { keysQuery } from '../../api/queries.ts'
import { CsvLink } from '../../parts/buttons.tsx'
import { ScreenTop, useScreenSearch } from '../../shell/account-screen.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { Drawer } from './drawer.tsx'
import { useUsed } from './filter-options.tsx'
import { Filters } from './filters.tsx'
import { Find, Live } from './list-tools.tsx'
import { Refusals } from './refusals.tsx'
import { RequestList } from './request-list.tsx'
import type { KeyNameOf } from './request-words.ts'
import { type ActivityRange, type ActivitySearch, activityRangeSearch, rangeOf } from './search.ts'
import { csvHref, type RequestSource, useActivity, useRequestSource } from './use-activity.ts'

/** The requests of an account, or for operators of all accounts, with tokens, time and charge; live. */
export function ActivityScreen() {
  const { search, change } = useScreenSearch<ActivitySearch>()
  const [isLive, setLive] = useState(true)
  const source = useRequestSource()
  const activity = useActivity(source, search, isLive)
  const keyNameOf = useKeyNames(source, rangeOf(search))
  const spanOf = useSpanOf()
  const look = (range: ActivityRange) => change(() => inRange(search, range))
  const listRef = useRef<HTMLDivElement>(null)
  const { open, close } = useOpened(listRef)
  return (
    <>
      <ScreenTop title="Activity">
        <Find onFind={open} />
        <Live isLive={isLive} following={activity.following} onLive={setLive} />
        <CsvLink href={csvHref(source, search, spanOf)} />
      </ScreenTop>
      <Filters
        source={source}
        search={search}
        tags={[...new Set(activity.rows.flatMap((row) => row.tags))].sort()}
        keyNames={new Map(activity.rows.map((row) => [row.key_id, keyNameOf(row)]))}
        onChange={(next) => change(() => next, { resetScroll: false })}
        onRange={look}
      />
      <Refusals source={source} search={search} />
      <div className={search.request === undefined ? 'act' : 'act open'}>
        <div ref={listRef} className="min-w-0">
          <RequestList
            activity={activity}
            search={search}
            isLive={isLive}
            source={source}
            keyNameOf={keyNameOf}
            onOpen={open}
            onOlder={() => {
              setLive(false)
              void activity.fetchOlder()
            }}
            onRange={look}
            onClear={() => change(() => activityRangeSearch(rangeOf(search)))}
          />
        </div>
        {search.request !== undefined && (
          <Drawer
            key={search.request}
            requestId={search.request}
            row={activity.rows.find(({ id }) => id === search.request)}
            source={source}
            keyNameOf={keyNameOf}
            onClose={close}
          />
        )}
      </div>
    </>
  )
}

/** Opens and closes a request next to the list, by clicks and by keys. */
function useOpened(listRef: React.RefObject<HTMLElement | null>) {
  const { search, change } = useScreenSearch<ActivitySearch>()
  const open = (request: string | undefined) =>
    change(({ request: _, ...rest }) => (request === undefined ? rest : { ...rest, request }), {
      // Opening a request adds a step to the history; moving to the next one does not.
      replace: search.request !== undefined,
      resetScroll: false,
    })
  const close = () => open(undefined)
  const move = useRowKeys(listRef, { isOpen: search.request !== undefined, open })
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    ...(search.request === undefined ? {} : { Escape: close }),
  })
  return { open, close }
}

/** Keeps the filters and replaces the range. */
function inRange(
  { range: _, from: __, to: ___, ...rest }: ActivitySearch,
  range: ActivityRange,
): ActivitySearch {
  return { ...rest, ...activityRangeSearch(range) }
}

/** The name of a request's key: operators get it with the request, members have the keys of their account. */
function useKeyNames(source: RequestSource, range: ActivityRange): KeyNameOf {
  const { accountId } = source
  const { data } = useQuery({ ...keysQuery(accountId ?? ''), enabled: accountId !== null })
  // Of an account with more keys than a page of the list, the usage of the range names those with requests.
  const { used } = useUsed('key', { source, range, isAsked: data?.has_more === true })
  const names = new Map([
    ...used.map(({ value, text }) => [value, text] as const),
    ...(data?.data.map(({ id, name }) => [id, name] as const) ?? []),
  ])
  return (request) => {
    const name = 'key_name' in request ? request.key_name : names.get(request.key_id)
    if (name == null) return data?.has_more === false ? 'deleted key' : null
    return 'key_deleted' in request && request.key_deleted ? `${name} (deleted)` : name
  }
}

interface RowKeys {
  readonly isOpen: boolean
  readonly open: (request: string) => void
}

/** Moves focus through the rows; where a request is open, the next one opens. */
function useRowKeys(
  listRef: React.RefObject<HTMLElement | null>,
  { isOpen, open }: RowKeys,
): (by: 1 | -1) => void {
  return (by) => {
    const links = [...(listRef.current?.querySelectorAll<HTMLElement>('a.open-it') ?? [])]
    const focused = links.indexOf(document.activeElement as HTMLElement)
    const current = links.findIndex((link) => link.closest('tr')?.ariaCurrent === 'true')
    const from = focused === -1 ? current : focused
    const next = links[Math.max(0, Math.min(links.length - 1, from === -1 ? 0 : from + by))]
    next?.focus()
    const id = next?.dataset['request']
    if (isOpen && id !== undefined) open(id)
  }
}
