import { PickMany } from '../../parts/pick.tsx'
import { PickAccount } from '../../parts/pick-account.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { useSpanOf } from '../../shell/use-span.ts'
import { KeyFilter, ModelFilter, UpstreamFilter, withPicked } from './filter-options.tsx'
import {
  type ActivityRange,
  type ActivitySearch,
  LAST_HOURS,
  type RequestState,
  rangeOf,
  STATE_WORDS,
} from './search.ts'
import { type RequestSource, useIsAllAccounts } from './use-activity.ts'

interface FiltersProps {
  readonly source: RequestSource
  readonly search: ActivitySearch
  /** The tags of the listed requests. Other tags must be typed. */
  readonly tags: readonly string[]
  /** The names of the keys whose requests are listed. */
  readonly keyNames: ReadonlyMap<string, string | null>
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

/** The filters of the list of requests. */
export function Filters(props: FiltersProps) {
  const { source, search, tags, onChange, onRange } = props
  const change = (part: Changed) => onChange(without({ ...search, ...part }))
  const range = rangeOf(search)
  const spanOf = useSpanOf()
  const isAllAccounts = useIsAllAccounts()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser
    <div className="filters" role="group" aria-label="Filters">
      <RangePicker
        range={range.kind === 'hours' ? TODAY : range}
        compare={null}
        align="start"
        spanOf={spanOf}
        hours={HOURS.map((value) => ({
          value,
          text: LAST_HOURS[value].text,
          isPicked: range.kind === 'hours' && range.range === value,
          onPick: () => onRange({ kind: 'hours', range: value }),
        }))}
        onChange={(picked) => onRange(picked.range)}
      />
      {isAllAccounts && (
        <PickAccount
          accountId={search.account}
          onChange={(account) => change({ account, key: undefined })}
        />
      )}
      <ModelFilter
        source={source}
        range={range}
        picked={search.model ?? []}
        onChange={(model) => change({ model })}
      />
      <Keys {...props} onPick={(key) => change({ key })} />
      {source.as === 'operator' && (
        <UpstreamFilter
          source={source}
          range={range}
          picked={search.upstream ?? []}
          onChange={(upstream) => change({ upstream })}
        />
      )}
      <States search={search} onPick={change} />
      <PickMany
        label="Endpoint"
        options={ENDPOINTS}
        picked={search.endpoint ?? []}
        onChange={(endpoint) => change({ endpoint })}
      />
      <PickMany
        label="Tag"
        options={withPicked(
          tags.map((value) => ({ value, text: value })),
          search.tag ?? [],
        )}
        picked={search.tag ?? []}
        takesOthers
        onChange={(tag) => change({ tag })}
      />
    </div>
  )
}

interface StatesProps extends Pick<FiltersProps, 'search'> {
  readonly onPick: (picked: Changed) => void
}

/** The filter by state, with failed requests of any state. */
function States({ search, onPick }: StatesProps) {
  return (
    <PickMany
      label="State"
      options={[...STATES, { value: FAILED, text: 'Failed only' }]}
      picked={[...(search.state ?? []), ...(search.failed === true ? [FAILED] : [])]}
      onChange={(values) =>
        onPick({
          state: values.filter((value) => value !== FAILED) as RequestState[],
          failed: values.includes(FAILED) || undefined,
        })
      }
    />
  )
}

interface KeysProps extends Pick<FiltersProps, 'source' | 'search' | 'keyNames'> {
  readonly onPick: (apiKeyIds: readonly string[]) => void
}

/** The filter by key. All accounts together have too many keys to list, so a key can only be set by a chart. */
function Keys({ source, search, keyNames, onPick }: KeysProps) {
  const { key: picked = [] } = search
  const { accountId } = source
  if (accountId !== null) {
    const props = { source, accountId, range: rangeOf(search), picked }
    return <KeyFilter {...props} onChange={onPick} />
  }
  if (picked.length === 0) return null
  const options = picked.map((value) => ({ value, text: keyNames.get(value) ?? value }))
  return <PickMany label="Key" options={options} picked={picked} onChange={onPick} />
}

/** Changed filters; undefined: the filter is no longer set. */
type Changed = {
  readonly [Name in keyof ActivitySearch]?: ActivitySearch[Name] | undefined | false
}

/** Only filters that are set are in the address; a changed filter closes the open request. */
function without({ request: _, ...search }: Changed): ActivitySearch {
  const kept = Object.entries(search).filter(
    ([, value]) =>
      value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(kept)
}
