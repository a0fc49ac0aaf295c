import { useQuery } from '@tanstack/react-query'
import { MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import { currentMs } from '../../api/clock.ts'
import { offeredModelsQuery, operatorReportQuery, upstreamsQuery } from '../../api/operator.ts'
import { keysQuery, modelsQuery, momentsOf, reportQuery } from '../../api/queries.ts'
import { capitalized } from '../../format/capitalized.ts'
import { type Option, PickMany } from '../../parts/pick.tsx'
import type { Read } from '../../parts/states.tsx'
import { useSpanOf } from '../../shell/use-span.ts'
import type { ActivityRange } from './search.ts'
import type { RequestSource } from './use-activity.ts'

interface FilterProps {
  readonly source: RequestSource
  readonly range: ActivityRange
  readonly picked: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** The models of the range, including those that have left the catalog, then the others in the catalog. */
export function ModelFilter(props: FilterProps) {
  const { as, accountId } = props.source
  const own = useQuery({ ...modelsQuery(accountId ?? ''), enabled: as === 'member' })
  const offered = useQuery({ ...offeredModelsQuery, enabled: as !== 'member' })
  const listed = as === 'member' ? own : offered
  const ids = [...new Set(listed.data?.data.map(({ id }) => id))]
  const options = ids.map((id) => ({ value: id, text: id }))
  return <UsedFilter by="model" listed={listed} options={options} {...props} />
}

/** The upstreams of the range, including those that are no longer configured, then the other configured ones. */
export function UpstreamFilter(props: FilterProps) {
  const listed = useQuery(upstreamsQuery)
  const options = listed.data?.data.map(({ name }) => ({ value: name, text: name })) ?? []
  return <UsedFilter by="upstream" listed={listed} options={options} {...props} />
}

/** The keys of the range, including deleted ones, then the others of the account. */
export function KeyFilter({ accountId, ...props }: FilterProps & { readonly accountId: string }) {
  const listed = useQuery(keysQuery(accountId))
  const { data } = listed
  const options = data?.data.map(({ id, name }) => ({ value: id, text: name })) ?? []
  const isWhole = data?.has_more === false
  return <UsedFilter by="key" listed={listed} options={options} isWhole={isWhole} {...props} />
}

interface UsedFilterProps extends FilterProps {
  readonly by: UsedBy
  /** The call that lists them, and what it lists. */
  readonly listed: Read
  readonly options: readonly Option[]
  /** Whether what is not in the list was deleted. Default: it may be. */
  readonly isWhole?: boolean
}

/** The choices that have requests in the range, then the rest of a list. */
function UsedFilter({
  by,
  listed,
  options,
  isWhole = false,
  source,
  range,
  ...props
}: UsedFilterProps) {
  const { used, query } = useUsed(by, { source, range })
  const isIn = (list: readonly Option[]) => (one: Option) =>
    list.some(({ value }) => value === one.value)
  const first = used.map((one) =>
    isWhole && !isIn(options)(one) ? { ...one, text: `${one.text} (deleted)` } : one,
  )
  const all = [...first, ...options.filter((one) => !isIn(used)(one))]
  return (
    <PickMany
      label={capitalized(by)}
      options={withPicked(all, props.picked)}
      reads={{ [`The ${by}s`]: listed, [`The ${by}s with requests`]: query }}
      {...props}
    />
  )
}

type UsedBy = 'model' | 'key' | 'upstream'

interface UsedInput {
  readonly source: RequestSource
  readonly range: ActivityRange
  /** Default: they are read. */
  readonly isAsked?: boolean
}

interface Used {
  readonly used: readonly Option[]
  readonly query: Read
}

/** The models, keys or upstreams with requests in the range, and the call. Members see no upstreams. */
export function useUsed(by: UsedBy, { source, range, isAsked = true }: UsedInput): Used {
  const spanOf = useSpanOf()
  const span = range.kind === 'hours' ? lastDays(2, { nowMs: currentMs() }) : spanOf(range)
  const isMember = source.as === 'member'
  const own = useQuery({
    ...reportQuery(source.accountId ?? '', momentsOf(span), by === 'key' ? 'key' : 'model'),
    enabled: isMember && isAsked,
  })
  const all = useQuery({
    ...operatorReportQuery(span, { by, account: source.accountId }),
    enabled: !isMember && isAsked,
    staleTime: MINUTE_MS,
    refetchInterval: false,
  })
  const query = isMember ? own : all
  const { data } = query
  if (data?.by !== by) return { used: [], query }
  const rows = data.data.filter(({ id }) => id !== null)
  return { used: rows.map(({ id, name }) => ({ value: id ?? '', text: name ?? id ?? '' })), query }
}

/** Picked values that are no longer in a list, such as a deleted key, can still be deselected. */
export function withPicked(
  options: readonly Option[],
  picked: readonly string[],
): readonly Option[] {
  const unlisted = picked.filter((value) => !options.some((option) => option.value === value))
  return [...unlisted.map((value) => ({ value, text: value })), ...options]
}
