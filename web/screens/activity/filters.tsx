import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery, modelsQuery } from '../../api/queries.ts'
import { Icon } from '../../parts/icon.tsx'
import { Choose, type Option, PickMany } from '../../parts/pick.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import {
  ACTIVITY_RANGES,
  type ActivityRange,
  type ActivitySearch,
  DEFAULT_RANGE,
  type RequestState,
  STATE_WORDS,
} from './search.ts'

interface FiltersProps {
  readonly search: ActivitySearch
  readonly isLive: boolean
  readonly onLive: (isLive: boolean) => void
  readonly onFind: (requestId: string) => void
  readonly onChange: (search: ActivitySearch) => void
}

const RANGES = Object.entries(ACTIVITY_RANGES).map(([value, { text }]) => ({ value, text }))
const STATES = Object.entries(STATE_WORDS).map(([value, text]) => ({ value, text }))
const ENDPOINTS = ['chat', 'completions', 'messages', 'responses', 'embeddings', 'images'].map(
  (value) => ({ value, text: value }),
)
const FAILED = 'failed'

/** What is looked for, and whether the list follows what happens. */
export function Filters({ search, isLive, onLive, onFind, onChange }: FiltersProps) {
  const change = (part: Partial<ActivitySearch>) => onChange(without({ ...search, ...part }))
  const picked = [...(search.state ?? []), ...(search.failed === true ? [FAILED] : [])]
  const { range = DEFAULT_RANGE } = search
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser
    <div className="filters" role="group" aria-label="Filters">
      <Find onFind={onFind} />
      <Choose
        label="Range"
        icon="calendar"
        options={RANGES}
        value={range}
        onChange={(value) => change({ range: value as ActivityRange })}
      />
      <ModelFilter picked={search.model ?? []} onChange={(model) => change({ model })} />
      <KeyFilter picked={search.key ?? []} onChange={(key) => change({ key })} />
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
      <button
        type="button"
        className="btn live"
        aria-pressed={isLive}
        onClick={() => onLive(!isLive)}
      >
        <span className="dot" />
        {isLive ? 'Live' : 'Paused'}
      </button>
    </div>
  )
}

/** What is not filtered by is not in the address; another filter closes what was open. */
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
          placeholder="Find a request id, req_…"
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

function ModelFilter(props: PartProps) {
  const { data } = useQuery(modelsQuery)
  const options = data?.data.map(({ id }) => ({ value: id, text: id }))
  return <PickMany label="Model" options={withPicked(options, props.picked)} {...props} />
}

function KeyFilter(props: PartProps) {
  const { data } = useQuery(keysQuery(useAccountId()))
  const options = data?.data.map(({ id, name }) => ({ value: id, text: name }))
  return <PickMany label="Key" options={withPicked(options, props.picked)} {...props} />
}

/** Picked values that are in no list any more, such as a deleted key, can still be taken back. */
function withPicked(
  options: readonly Option[] | undefined,
  picked: readonly string[],
): readonly Option[] {
  const all = options ?? []
  const unlisted = picked.filter((value) => !all.some((option) => option.value === value))
  return [...unlisted.map((value) => ({ value, text: value })), ...all]
}
