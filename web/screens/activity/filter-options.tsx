import { useQuery } from '@tanstack/react-query'
import { MINUTE_MS } from '../../../src/vocabulary/clock.ts'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import { currentMs } from '../../api/clock.ts'
import { offeredModelsQuery, operatorReportQuery, upstreamsQuery } from '../../api/operator.ts'
import { keysQuery, modelsQuery, momentsOf, reportQuery } from '../../api/queries.ts'
import { type Option, PickMany } from '../../parts/pick.tsx'
import type { Read } from '../../parts/states.tsx'
import { useSpanOf } from '../../shell/use-span.ts'
import type { ActivityRange } from './search.ts'
import type { RequestSource } from './use-activity.ts'

interface ListedProps {
  readonly range: ActivityRange
  readonly picked: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** The models of the range, including those that have left the catalog, then the others in the catalog. */
export function ModelFilter({
  source,
  range,
  ...props
}: ListedProps & { readonly source: RequestSource }) {
  const isMember = source.as === 'member'
  const own = useQuery({ ...modelsQuery(source.accountId ?? ''), enabled: isMember })
  const offered = useQuery({ ...offeredModelsQuery, enabled: !isMember })
  const catalog = isMember ? own : offered
  const { used, query } = useUsed('model', { source, range })
  const rest = [...new Set(catalog.data?.data.map(({ id }) => id))]
  const options = [...used, ...unused(rest, used).map((id) => ({ value: id, text: id }))]
  return (
    <PickMany
      label="Model"
      options={withPicked(options, props.picked)}
      reads={{ 'The models': catalog, 'The models with requests': query }}
      {...props}
    />
  )
}

/** The upstreams of the range, including those that are no longer configured, then the other configured ones. */
export function UpstreamFilter({
  source,
  range,
  ...props
}: ListedProps & { readonly source: RequestSource }) {
  const { used, query } = useUsed('upstream', { source, range })
  const configured = useQuery(upstreamsQuery)
  const names = configured.data?.data.map(({ name }) => name) ?? []
  const options = [...used, ...unused(names, used).map((name) => ({ value: name, text: name }))]
  return (
    <PickMany
      label="Upstream"
      options={withPicked(options, props.picked)}
      reads={{ 'The upstreams': configured, 'The upstreams with requests': query }}
      {...props}
    />
  )
}

function unused(values: readonly string[], used: readonly Option[]): readonly string[] {
  return values.filter((each) => !used.some(({ value }) => value === each))
}

/** The keys of the range, including deleted ones, then the others of the account. */
export function KeyFilter({
  source,
  range,
  ...props
}: ListedProps & { readonly source: RequestSource & { readonly accountId: string } }) {
  const keys = useQuery(keysQuery(source.accountId))
  const { data } = keys
  const isWhole = data?.has_more === false
  const { used: withRequests, query } = useUsed('key', { source, range })
  const used = withRequests.map(({ value, text }) => {
    const isDeleted = isWhole && data.data.every(({ id }) => id !== value)
    return { value, text: isDeleted ? `${text} (deleted)` : text }
  })
  const rest = data?.data.filter(({ id }) => !used.some(({ value }) => value === id)) ?? []
  const options = [...used, ...rest.map(({ id, name }) => ({ value: id, text: name }))]
  return (
    <PickMany
      label="Key"
      options={withPicked(options, props.picked)}
      reads={{ 'The keys': keys, 'The keys with requests': query }}
      {...props}
    />
  )
}

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
export function useUsed(
  by: 'model' | 'key' | 'upstream',
  { source, range, isAsked = true }: UsedInput,
): Used {
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
