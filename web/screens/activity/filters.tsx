import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import { keysQuery, modelsQuery, momentsOf, reportQuery } from '../../api/queries.ts'
import { minuteTime } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { type Option, PickMany } from '../../parts/pick.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import {
  type ActivityRange,
  type ActivitySearch,
  LAST_HOURS,
  type RequestState,
  rangeOf,
  STATE_WORDS,
} from './search.ts'
import type { Following } from './use-activity.ts'

interface FiltersProps {
  readonly search: ActivitySearch
  readonly isLive: boolean
  readonly following: Following
  /** The tags of the requests that are listed: others are typed. */
  readonly tags: readonly string[]
  readonly onLive: (isLive: boolean) => void
  readonly onFind: (requestId: string) => void
  readonly onChange: (search: ActivitySearch) => void
  readonly onRange: (range: ActivityRange) => void
}

const HOURS = ['1h', '24h'] as const
const STATES = Object.entries(STATE_WORDS).map(([value, text]) => ({ value, text }))
const ENDPOINTS = ['chat', 'completions', 'messages', 'responses', 'embeddings', 'images'].map(
  (value) => ({ value, text: value }),
)
const FAILED = 'failed'
const TODAY = { kind: 'moving', range: 'today' } as const

/** The filters, and whether the list is live. */
export function Filters(props: FiltersProps) {
  const { search, isLive, following, tags, onLive, onFind, onChange, onRange } = props
  const change = (part: Partial<ActivitySearch>) => onChange(without({ ...search, ...part }))
  const picked = [...(search.state ?? []), ...(search.failed === true ? [FAILED] : [])]
  const range = rangeOf(search)
  const spanOf = useSpanOf()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser
    <div className="filters" role="group" aria-label="Filters">
      <Find onFind={onFind} />
      <RangePicker
        range={range.kind === 'hours' ? TODAY : range}
        compare={null}
        spanOf={spanOf}
        hours={HOURS.map((value) => ({
          value,
          text: LAST_HOURS[value].text,
          isPicked: range.kind === 'hours' && range.range === value,
          onPick: () => onRange({ kind: 'hours', range: value }),
        }))}
        onChange={(picked) => onRange(picked.range)}
      />
      <ModelFilter
        range={range}
        picked={search.model ?? []}
        onChange={(model) => change({ model })}
      />
      <KeyFilter range={range} picked={search.key ?? []} onChange={(key) => change({ key })} />
      <PickMany
        label="State"
        options={[...STATES, { value: FAILED, text: 'Failed only' }]}
        picked={picked}
        onChange={(values) =>
          change({
            state: values.filter((value) => value !== FAILED) as RequestState[],
            failed: values.includes(FAILED) || undefined,
          } as Partial<ActivitySearch>)
        }
      />
      <PickMany
        label="Endpoint"
        className="hide-s"
        options={ENDPOINTS}
        picked={search.endpoint ?? []}
        onChange={(endpoint) => change({ endpoint })}
      />
      <PickMany
        label="Tag"
        className="hide-s"
        options={withPicked(
          tags.map((value) => ({ value, text: value })),
          search.tag ?? [],
        )}
        picked={search.tag ?? []}
        takesOthers
        onChange={(tag) => change({ tag })}
      />
      <button
        type="button"
        className={following.kind === 'live' ? 'btn live' : 'btn live away'}
        aria-pressed={isLive}
        onClick={() => onLive(!isLive)}
      >
        <span className="dot" />
        {isLive ? followingText(following) : 'Paused'}
      </button>
    </div>
  )
}

function followingText(following: Following): string {
  switch (following.kind) {
    case 'live':
      return 'Live'
    case 'reconnecting':
      return 'Reconnecting…'
    case 'offline':
      return `Offline since ${minuteTime(following.since)}`
  }
}

/** Only filters that are set are in the address; a changed filter closes the open request. */
function without({ request: _, ...search }: ActivitySearch): ActivitySearch {
  const kept = Object.entries(search).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(kept)
}

function Find({ onFind }: { onFind: (requestId: string) => void }) {
  const [text, setText] = useState('')
  return (
    <form
      className="contents"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === '') return
        onFind(text.trim())
        setText('')
      }}
    >
      <label className="find">
        <Icon name="search" small />
        <span className="vh">Request id</span>
        <input
          id="find"
          value={text}
          placeholder="Find a request ID, req_…"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        <kbd className="hide-s">/</kbd>
      </label>
    </form>
  )
}

interface PartProps {
  readonly picked: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

interface ListedProps extends PartProps {
  readonly range: ActivityRange
}

/** The models of the range, among them those that have left the catalog, then the others of the catalog. */
function ModelFilter({ range, ...props }: ListedProps) {
  const { data } = useQuery(modelsQuery(useAccountId()))
  const used = useUsed('model', range)
  const rest = data?.data.filter(({ id }) => !used.some(({ value }) => value === id)) ?? []
  const options = [...used, ...rest.map(({ id }) => ({ value: id, text: id }))]
  return <PickMany label="Model" options={withPicked(options, props.picked)} {...props} />
}

/** The keys of the range, among them deleted ones, then the others of the account. */
function KeyFilter({ range, ...props }: ListedProps) {
  const { data } = useQuery(keysQuery(useAccountId()))
  const isWhole = data?.has_more === false
  const used = useUsed('key', range).map(({ value, text }) => {
    const isDeleted = isWhole && data.data.every(({ id }) => id !== value)
    return { value, text: isDeleted ? `${text} (deleted)` : text }
  })
  const rest = data?.data.filter(({ id }) => !used.some(({ value }) => value === id)) ?? []
  const options = [...used, ...rest.map(({ id, name }) => ({ value: id, text: name }))]
  return <PickMany label="Key" options={withPicked(options, props.picked)} {...props} />
}

/** The models or keys that have requests in the range. */
function useUsed(by: 'model' | 'key', range: ActivityRange): readonly Option[] {
  const spanOf = useSpanOf()
  const span = range.kind === 'hours' ? lastDays(2, { nowMs: Date.now() }) : spanOf(range)
  const { data } = useQuery(reportQuery(useAccountId(), momentsOf(span), by))
  if (data?.by !== by) return []
  return data.data.flatMap(({ id, name }) => (id === null ? [] : [{ value: id, text: name ?? id }]))
}

/** Picked values that are no longer in a list, such as a deleted key, can still be deselected. */
function withPicked(
  options: readonly Option[] | undefined,
  picked: readonly string[],
): readonly Option[] {
  const all = options ?? []
  const unlisted = picked.filter((value) => !all.some((option) => option.value === value))
  return [...unlisted.map((value) => ({ value, text: value })), ...all]
}
