import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { DAY_HOURS, HOUR_MS } from '../vocabulary/usage-step.ts'
import { requestHourFrom, rolledBetween } from './rolled.ts'
import {
  addSums,
  GROUPING_COLUMNS,
  lateRowsOf,
  NO_USAGE,
  selectSums,
  type UsageSums,
} from './sums.ts'

const DAY_MS = DAY_HOURS * HOUR_MS

/** The column by which the requests of a period are grouped. */
type PeriodGrouping = keyof typeof COLUMNS

/** The requests to add up. */
export interface PeriodQuery {
  /** Null: all accounts. */
  readonly accountId: string | null
  /** One key of the account, or several; null: all of them. */
  readonly apiKeyId: string | readonly string[] | null
  /** One model, or several. Default: all. */
  readonly modelId?: string | readonly string[] | undefined
  /** One endpoint, or several. Default: all. */
  readonly endpoint?: string | readonly string[] | undefined
  /** Default: all upstreams. */
  readonly upstream?: string | undefined
  /**
   * Null: not grouped. Tags: every list of tags is a group, as the column has it; requests without are left out.
   * Finest: by all columns of {@link FinestGroup}, which {@link finestGroupOf} reads from the label.
   */
  readonly by: PeriodGrouping | null
  /** Where each period begins, ascending, and where the last one ends, in milliseconds since the Unix epoch. */
  readonly boundsMs: readonly number[]
  /** How many groups by period each read of a part of the periods returns. Default: all. */
  readonly groupsMax?: number
}

/** The sums of a group's requests in a period; null: they are not grouped. First-byte times are left out. */
export interface PeriodSums {
  readonly place: number
  readonly label: string | null
  readonly sums: UsageSums
}

/**
 * Adds up requests by period, to the millisecond in which their ids were made: whole days and hours from roll-ups,
 * the others from requests. Of a day or an hour that a bound divides and whose requests may have been pruned, all
 * counts in the period in which it begins, so that periods side by side have each request once.
 */
export async function readPeriods(
  view: Kysely<Tables>,
  query: PeriodQuery,
): Promise<readonly PeriodSums[]> {
  const pieces = await piecesOf(view, query)
  const sums = new Sums()
  for (const source of ['usage_days', 'usage_hours'] as const) {
    const places = pieces[source]
    if (places.size === 0) continue
    for (const row of await readRolled(view, { query, source, places })) {
      sums.add(places.get(row.step) ?? 0, row)
    }
  }
  for (const span of pieces.spans) {
    for (const row of await readSpan(view, query, span)) sums.add(span.place, row)
  }
  return sums.all
}

class Sums {
  readonly #rows = new Map<string, PeriodSums>()

  add(place: number, { step: _, label, ...more }: ReadRow): void {
    const name = `${place} ${label}`
    const earlier = this.#rows.get(name)?.sums ?? NO_USAGE
    const sums = addSums(earlier, { ...NO_USAGE, ...more })
    this.#rows.set(name, { place, label, sums })
  }

  get all(): readonly PeriodSums[] {
    return [...this.#rows.values()]
  }
}

/** Requests of a part of a period, which are read themselves. */
interface Span {
  readonly place: number
  readonly fromMs: number
  untilMs: number
}

/** Where each part of the periods is read: the numbers of rolled days and hours with their periods, and spans. */
interface Pieces {
  readonly usage_days: ReadonlyMap<number, number>
  readonly usage_hours: ReadonlyMap<number, number>
  readonly spans: readonly Span[]
}

/** Roll-ups of hours don't tell keys apart, and none tells tags apart. */
function needs({ apiKeyId, by }: PeriodQuery): { readonly keys: boolean; readonly tags: boolean } {
  return { keys: apiKeyId !== null || isByKey(by), tags: by === 'tag' }
}

function isByKey(by: PeriodQuery['by']): boolean {
  return by === 'key' || by === 'finest'
}

async function piecesOf(view: Kysely<Tables>, query: PeriodQuery): Promise<Pieces> {
  const { boundsMs } = query
  const [fromMs = 0, untilMs = fromMs] = [boundsMs[0], boundsMs.at(-1)]
  const { keys, tags } = needs(query)
  // Days before the epoch have what was pruned before there were roll-ups, whose days are not known.
  const firstDay = Math.max(0, Math.floor(fromMs / DAY_MS))
  const firstHour = firstDay * DAY_HOURS
  const days = await rolledBetween(view, {
    step: 'day',
    from: firstDay,
    until: Math.ceil(untilMs / DAY_MS),
  })
  const hours = await rolledBetween(view, {
    step: 'hour',
    from: firstHour,
    until: Math.ceil(untilMs / HOUR_MS),
  })
  const prunedMs = await prunedUntilMs(view)
  const requestHour = await requestHourFrom(view, firstHour)
  const requestsFromMs = requestHour === null ? untilMs : requestHour * HOUR_MS
  const usage_days = new Map<number, number>()
  const usage_hours = new Map<number, number>()
  const spans: Span[] = []
  const periods = new Periods(boundsMs)
  const readRequests = ({ startMs, endMs }: Time): void => {
    // Before it there is nothing to read.
    if (endMs <= requestsFromMs) return
    for (const part of periods.within({ startMs, endMs })) {
      const last = spans.at(-1)
      if (last?.place === part.place && last.untilMs === part.fromMs) last.untilMs = part.untilMs
      else spans.push(part)
    }
  }
  for (let day = firstDay; day * DAY_MS < untilMs; day++) {
    const begins = periods.placeOf(timeOf(day, DAY_MS))
    const isRead = tags || (keys && day * DAY_MS > prunedMs)
    if (!tags && days.has(day) && (begins.isWhole || (keys && !isRead))) {
      if (begins.place !== null) usage_days.set(day, begins.place)
      continue
    }
    if (keys || tags) {
      readRequests(timeOf(day, DAY_MS))
      continue
    }
    for (let hour = day * DAY_HOURS; hour < (day + 1) * DAY_HOURS; hour++) {
      const at = periods.placeOf(timeOf(hour, HOUR_MS))
      if (hours.has(hour) && (at.isWhole || hour * HOUR_MS <= prunedMs)) {
        if (at.place !== null) usage_hours.set(hour, at.place)
      } else readRequests(timeOf(hour, HOUR_MS))
    }
  }
  return { usage_days, usage_hours, spans }
}

/** From its start on, before its end. */
interface Time {
  readonly startMs: number
  readonly endMs: number
}

/** By position: the number of a day or an hour, and the length of one. */
function timeOf(number: number, lengthMs: number): Time {
  return { startMs: number * lengthMs, endMs: (number + 1) * lengthMs }
}

/** Finds the periods of moments, which are asked for in ascending order. */
class Periods {
  readonly #boundsMs: readonly number[]

  constructor(boundsMs: readonly number[]) {
    this.#boundsMs = boundsMs
  }

  /** The period in which a step begins; null: before the first. It is whole if it ends there too. */
  placeOf({ startMs, endMs: stepEndMs }: Time): {
    readonly place: number | null
    readonly isWhole: boolean
  } {
    const place = this.#placeAt(startMs)
    const endMs = this.#boundsMs[(place ?? -1) + 1]
    const isWhole = place !== null && endMs !== undefined && stepEndMs <= endMs
    return { place, isWhole }
  }

  /** The parts of a time, by period. */
  *within({ startMs, endMs }: Time): Generator<Span> {
    const lastMs = this.#boundsMs.at(-1) ?? startMs
    let fromMs = Math.max(startMs, this.#boundsMs[0] ?? startMs)
    while (fromMs < Math.min(endMs, lastMs)) {
      const place = this.#placeAt(fromMs) ?? 0
      const untilMs = Math.min(endMs, this.#boundsMs[place + 1] ?? endMs)
      yield { place, fromMs, untilMs }
      fromMs = untilMs
    }
  }

  #placeAt(atMs: number): number | null {
    let [low, high] = [-1, this.#boundsMs.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#boundsMs[middle] ?? 0) <= atMs) low = middle
      else high = middle - 1
    }
    return low === -1 ? null : low
  }
}

/** Requests with ids from after this moment were not pruned: pruned requests were already settled. */
async function prunedUntilMs(view: Kysely<Tables>): Promise<number> {
  const row = await view
    .selectFrom('pruned_requests')
    .select(({ fn }) => fn.max('latest_settled_at_ms').as('latestMs'))
    .executeTakeFirst()
  return Number(row?.latestMs ?? Number.NEGATIVE_INFINITY)
}

type ReadRow = Partial<UsageSums> & { readonly step: number; readonly label: string | null }

const COLUMNS = { ...GROUPING_COLUMNS, tag: 'tags', finest: null } as const

// The model is last: no other column can have a space.
const FINEST_COLUMNS = ['account_id', 'api_key_id', 'endpoint', 'upstream', 'model_id'] as const

const FINEST_LABEL = sql.join(
  FINEST_COLUMNS.map((column) => sql.ref(column)),
  sql` || ' ' || `,
)

function labelOf({ by }: PeriodQuery): RawBuilder<unknown> {
  if (by === 'finest') return FINEST_LABEL
  return by === null ? sql`cast(null as text)` : sql.ref(COLUMNS[by])
}

/** Whose requests a finest group has, and of which kind. */
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

interface RolledInput {
  readonly query: PeriodQuery
  readonly source: 'usage_days' | 'usage_hours'
  /** Numbers of days or hours, ascending, with their periods. */
  readonly places: ReadonlyMap<number, number>
}

/** Reads roll-ups, and what was billed late for their requests. A row's step is any number of its period. */
async function readRolled(
  view: Kysely<Tables>,
  { query, source, places }: RolledInput,
): Promise<readonly ReadRow[]> {
  const number = source === 'usage_days' ? 'day' : 'hour'
  const numbers = [...places.keys()]
  const step = stepOfPeriod(sql.ref(number), places)
  const ofRows = sql`${sql.ref(number)} in (${sql.join(numbers)}) ${ownersOf(query, source)}`
  const parts = [
    { table: source, where: ofRows },
    {
      table: 'late_costs',
      where: sql`${lateRowsOf(source, numbers)} ${requestsOf(query)}`,
    },
  ] as const
  const read: ReadRow[] = []
  for (const { table, where } of parts) {
    const { rows } = await sql<ReadRow>`
      select ${step} as step, ${labelOf(query)} as label, ${selectSums(table, 'amounts')}
      from ${sql.table(table)} where ${where} ${kindsOf(query)}
      group by 1, 2 ${mostOf(query)}`.execute(view)
    read.push(...rows)
  }
  return read
}

/** All of one period is one row for each group, where periods are long. By position: the day or hour of a row, and all. */
function stepOfPeriod(
  number: RawBuilder<unknown>,
  places: ReadonlyMap<number, number>,
): RawBuilder<unknown> {
  const lastOf = new Map<number, number>()
  for (const [each, place] of places) lastOf.set(place, each)
  if (lastOf.size * 2 > places.size && lastOf.size > 1) return number
  const lasts = [...lastOf.values()]
  const last = sql.lit(lasts.pop() ?? 0)
  if (lasts.length === 0) return last
  const cases = lasts.map((each) => sql`when ${number} <= ${sql.lit(each)} then ${sql.lit(each)}`)
  return sql`case ${sql.join(cases, sql` `)} else ${last} end`
}

/** The rows of roll-ups that are of the accounts and keys of a query. */
function ownersOf(
  { accountId, apiKeyId, by }: PeriodQuery,
  source: RolledInput['source'],
): RawBuilder<unknown> {
  const keys = source === 'usage_hours' ? sql`` : keyIs(apiKeyId, by)
  if (accountId !== null) return sql`${isOf(accountId)} ${keys}`
  if (isByKey(by)) return keys
  return by === 'account' ? sql`and account_id <> '' ${keys}` : sql`${isOf('')} ${keys}`
}

function keyIs(apiKeyId: PeriodQuery['apiKeyId'], by: PeriodQuery['by']): RawBuilder<unknown> {
  if (apiKeyId !== null) return isOneOf('api_key_id', apiKeyId)
  return isByKey(by) ? sql`and api_key_id <> ''` : sql`and api_key_id = ''`
}

function isOf(accountId: string): RawBuilder<unknown> {
  return sql`and account_id = ${accountId}`
}

/** The rows of requests, or of late costs, that are of the accounts and keys of a query. */
function requestsOf({ accountId, apiKeyId }: PeriodQuery): RawBuilder<unknown> {
  const ofAccount = accountId === null ? sql`` : isOf(accountId)
  return apiKeyId === null ? ofAccount : sql`${ofAccount} ${isOneOf('api_key_id', apiKeyId)}`
}

function kindsOf({ modelId, endpoint, upstream }: PeriodQuery): RawBuilder<unknown> {
  const ofModel = isOneOf('model_id', modelId)
  return sql`${ofModel} ${isOneOf('endpoint', endpoint)} ${isOneOf('upstream', upstream)}`
}

/** By position: a column, and the values that its rows may have; undefined: any. */
function isOneOf(
  column: 'api_key_id' | 'model_id' | 'endpoint' | 'upstream',
  values: string | readonly string[] | undefined,
): RawBuilder<unknown> {
  if (values === undefined) return sql``
  return sql`and ${sql.ref(column)} in (${sql.join([values].flat())})`
}

function mostOf({ groupsMax }: PeriodQuery): RawBuilder<unknown> {
  return groupsMax === undefined ? sql`` : sql`limit ${groupsMax}`
}

/** By position: the query, and the part of a period. */
async function readSpan(
  view: Kysely<Tables>,
  query: PeriodQuery,
  { fromMs, untilMs }: Span,
): Promise<readonly ReadRow[]> {
  const idAt = (timeMs: number): string => firstIdOf({ prefix: 'req', timeMs })
  const tagged = query.by === 'tag' ? sql`and tags is not null` : sql``
  const { rows } = await sql<ReadRow>`
    select 0 as step, ${labelOf(query)} as label, ${selectSums('requests', 'amounts')}
    from requests where id >= ${idAt(fromMs)} and id < ${idAt(untilMs)}
      ${requestsOf(query)} ${kindsOf(query)} ${tagged}
    group by 1, 2 ${mostOf(query)}`.execute(view)
  return rows
}
