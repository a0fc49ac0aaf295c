import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import type { Span } from './sum-plan.ts'
import { GROUPING_COLUMNS, type SelectedSums, selectSums, sumsOf, type UsageSums } from './sums.ts'

/** The requests that are added up, and how. */
export interface RowsQuery {
  /** One account, or several; null: all of them. */
  readonly accountId: string | readonly string[] | null
  /** One key, or several; null: all of them. */
  readonly apiKeyId: string | readonly string[] | null
  /** One model, or several. Default: all. */
  readonly modelId?: string | readonly string[] | undefined
  /** One endpoint, or several. Default: all. */
  readonly endpoint?: string | readonly string[] | undefined
  /** One upstream, or several. Default: all. */
  readonly upstream?: string | readonly string[] | undefined
  /**
   * The column by which requests are grouped; null: not grouped. Tags: every list of tags is a group, as the column
   * has it; requests without are left out. Finest: by all columns of {@link FinestGroup}, which {@link finestGroupOf}
   * reads from the label.
   */
  readonly by: keyof typeof COLUMNS | null
  /** Only these groups have a label; the label of all others is null. Default: all have one. */
  readonly labelled?: readonly string[]
  /** The most groups by period that one read returns. Default: all. */
  readonly groupsMax?: number | undefined
  /** The sums to read. Others are 0. */
  readonly columns: SelectedSums
}

/** The sums of a group's requests in a period; null: the label of a column that is not grouped. */
export interface SumRow {
  readonly place: number
  readonly label: string | null
  readonly sums: UsageSums
}

/** The group of requests by key and hour that were pruned: their keys are known only by day. */
export const NO_KEY = ''

const COLUMNS = { ...GROUPING_COLUMNS, tag: 'tags', finest: null } as const

// The model is last: no other column can have a space.
const FINEST_COLUMNS = ['account_id', 'api_key_id', 'endpoint', 'upstream', 'model_id'] as const

const FINEST_LABEL = sql.join(
  FINEST_COLUMNS.map((column) => sql.ref(column)),
  sql` || ' ' || `,
)

/** The owner and the kind of the requests in a finest group. */
export interface FinestGroup {
  readonly accountId: string
  readonly apiKeyId: string
  readonly endpoint: string
  /** Empty: not known, because the requests were pruned before roll-ups distinguished upstreams. */
  readonly upstream: string
  readonly modelId: string
}

/** The group that a label of `finest` names. */
export function finestGroupOf(label: string): FinestGroup {
  const [accountId = '', apiKeyId = '', endpoint = '', upstream = '', ...model] = label.split(' ')
  return { accountId, apiKeyId, endpoint, upstream, modelId: model.join(' ') }
}

type StoredRow = Partial<UsageSums> & {
  readonly group_step: number
  readonly group_label: string | null
}

/** Rolled days, or hours. */
export interface RolledPart {
  readonly source: 'usage_days' | 'usage_hours'
  /** Their numbers, ascending, with the places of their periods. */
  readonly places: ReadonlyMap<number, number>
}

/**
 * Reads roll-ups, and the amounts that were billed late for their requests. A group of a period may be in several rows.
 */
export async function readRolled(
  view: Kysely<Tables>,
  query: RowsQuery,
  { source, places }: RolledPart,
): Promise<readonly SumRow[]> {
  const read: SumRow[] = []
  const groups = new Set<string>()
  for (const part of partsOf(places, query)) {
    for (const row of await readPart(view, query, { source, places: part })) {
      read.push(row)
      groups.add(`${row.place} ${row.label}`)
    }
    if (groups.size >= (query.groupsMax ?? Infinity)) break
  }
  return read
}

// The rows of one statement are read without a pause, in which no other request is served.
const GROUPED_PERIODS_AT_ONCE = 14

/** Rolled days or hours in parts of a few periods, because each period can have many rows. */
function partsOf(places: RolledPart['places'], { by }: RowsQuery): readonly RolledPart['places'][] {
  if (by === null) return [places]
  const partOf = new Map<number, number>()
  for (const place of places.values()) {
    if (!partOf.has(place)) partOf.set(place, Math.floor(partOf.size / GROUPED_PERIODS_AT_ONCE))
  }
  const parts = Map.groupBy(places, ([, place]) => partOf.get(place) ?? 0)
  return [...parts.values()].map((part) => new Map(part))
}

async function readPart(
  view: Kysely<Tables>,
  query: RowsQuery,
  { source, places }: RolledPart,
): Promise<readonly SumRow[]> {
  const number = source === 'usage_days' ? 'day' : 'hour'
  const numbers = [...places.keys()]
  if (numbers.length === 0) return []
  const step = stepOfPeriod(sql.ref(number), places)
  const ofRows = sql`${sql.ref(number)} in (${sql.join(numbers)}) ${ownersOf(query, source)}`
  const parts = [
    { table: source, where: ofRows },
    { table: 'late_costs', where: sql`${lateRowsOf(source, numbers)} ${requestsOf(query)}` },
  ] as const
  const read: SumRow[] = []
  for (const { table, where } of parts) {
    const { rows } = await sql<StoredRow>`
      select ${step} as group_step, ${labelOf(query, source)} as group_label,
        ${selectSums(table, query.columns)}
      from ${sql.table(table)} where ${where} ${kindsOf(query)}
      group by 1, 2 ${mostOf(query)}`.execute(view)
    read.push(...rows.map((row) => sumRowOf(row, places.get(row.group_step) ?? 0)))
  }
  return read
}

/** Reads requests, open ones too: a group may be in two rows. By position: the query, and the part of a period. */
export async function readSpan(
  view: Kysely<Tables>,
  query: RowsQuery,
  { place, fromMs, untilMs }: Span,
): Promise<readonly SumRow[]> {
  const idAt = (timeMs: number): string => firstIdOf({ prefix: 'req', timeMs })
  const tagged = query.by === 'tag' ? sql`and tags is not null` : sql``
  const read: SumRow[] = []
  // Apart: SQLite would hand each row of a union on before it adds it up.
  for (const table of ['requests', 'open_requests']) {
    const { rows } = await sql<StoredRow>`
      select 0 as group_step, ${labelOf(query, 'requests')} as group_label,
        ${selectSums('requests', query.columns)}
      from ${sql.table(table)} where id >= ${idAt(fromMs)} and id < ${idAt(untilMs)}
        ${requestsOf(query)} ${kindsOf(query)} ${tagged}
      group by 1, 2 ${mostOf(query)}`.execute(view)
    read.push(...rows.map((row) => sumRowOf(row, place)))
  }
  return read
}

function sumRowOf(row: StoredRow, place: number): SumRow {
  return { place, label: row.group_label, sums: sumsOf(row) }
}

/**
 * The number that stands for the period of a row: any day or hour of it. A long period is one row for each
 * group. By position: the day or hour of a row, and all of them.
 */
function stepOfPeriod(
  number: RawBuilder<unknown>,
  places: ReadonlyMap<number, number>,
): RawBuilder<unknown> {
  if (isOfSinglePeriods(places)) return number
  const lastOf = lastOfPlaces(places)
  const lasts = [...lastOf.values()]
  const last = sql.lit(lasts.pop() ?? 0)
  if (lasts.length === 0) return last
  const cases = lasts.map((each) => sql`when ${number} <= ${sql.lit(each)} then ${sql.lit(each)}`)
  return sql`case ${sql.join(cases, sql` `)} else ${last} end`
}

/** Whether most periods are one day or hour, so that each of these is a row for each group. */
function isOfSinglePeriods(places: RolledPart['places']): boolean {
  const { size } = lastOfPlaces(places)
  return size * 2 > places.size && size > 1
}

/** The last day or hour of each period. */
function lastOfPlaces(places: RolledPart['places']): ReadonlyMap<number, number> {
  const lastOf = new Map<number, number>()
  for (const [each, place] of places) lastOf.set(place, each)
  return lastOf
}

function labelOf(
  { by, labelled }: RowsQuery,
  source: RolledPart['source'] | 'requests',
): RawBuilder<unknown> {
  if (by === null) return sql`cast(null as text)`
  if (by === 'finest') return FINEST_LABEL
  // Roll-ups of hours don't distinguish keys.
  const hasNone = by === 'key' && source === 'usage_hours'
  const label = hasNone ? sql`cast(${sql.lit(NO_KEY)} as text)` : sql`${sql.ref(COLUMNS[by])}`
  if (labelled === undefined) return label
  return sql`case when ${label} in (${sql.join(labelled)}) then ${label} else null end`
}

/** The rows of roll-ups that are of the accounts and keys of a query. */
export function ownersOf(
  { accountId, apiKeyId, by }: RowsQuery,
  source: RolledPart['source'],
): RawBuilder<unknown> {
  const readsDays = source === 'usage_days'
  const keys = readsDays ? keyIs(apiKeyId, by) : sql``
  if (accountId !== null) return sql`${isOneOf('account_id', accountId)} ${keys}`
  if (readsDays && isByKey(by)) return keys
  return by === 'account'
    ? sql`and account_id <> '' ${keys}`
    : sql`${isOneOf('account_id', '')} ${keys}`
}

function keyIs(apiKeyId: RowsQuery['apiKeyId'], by: RowsQuery['by']): RawBuilder<unknown> {
  if (apiKeyId !== null) return isOneOf('api_key_id', apiKeyId)
  return isByKey(by) ? sql`and api_key_id <> ''` : sql`and api_key_id = ''`
}

/** Whether a grouping distinguishes keys. */
export function isByKey(by: RowsQuery['by']): boolean {
  return by === 'key' || by === 'finest'
}

/** The rows of requests, or of late costs, that are of the accounts and keys of a query. */
export function requestsOf({ accountId, apiKeyId }: RowsQuery): RawBuilder<unknown> {
  const ofAccount = isOneOf('account_id', accountId ?? undefined)
  return sql`${ofAccount} ${isOneOf('api_key_id', apiKeyId ?? undefined)}`
}

/** The rows that are of the models, endpoints and upstreams of a query. */
export function kindsOf({ modelId, endpoint, upstream }: RowsQuery): RawBuilder<unknown> {
  const ofModel = isOneOf('model_id', modelId)
  return sql`${ofModel} ${isOneOf('endpoint', endpoint)} ${isOneOf('upstream', upstream)}`
}

/** By position: a column, and the values that its rows may have; undefined: any. */
function isOneOf(
  column: 'account_id' | 'api_key_id' | 'model_id' | 'endpoint' | 'upstream',
  values: string | readonly string[] | undefined,
): RawBuilder<unknown> {
  if (values === undefined) return sql``
  return sql`and ${sql.ref(column)} in (${sql.join([values].flat())})`
}

function mostOf({ groupsMax }: RowsQuery): RawBuilder<unknown> {
  return groupsMax === undefined ? sql`` : sql`limit ${groupsMax}`
}

/** The rows of `late_costs` that are of rolled days or hours. By position: the table that has those, and their numbers. */
function lateRowsOf(
  source: 'usage_days' | 'usage_hours',
  numbers: readonly number[],
): RawBuilder<boolean> {
  if (source === 'usage_days') return sql`day in (${sql.join(numbers)})`
  const days = [...new Set(numbers.map((hour) => Math.floor(hour / DAY_HOURS)))]
  return sql`day in (${sql.join(days)}) and hour in (${sql.join(numbers)})`
}
