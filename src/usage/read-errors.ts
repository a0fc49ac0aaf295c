import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { periodsBetween, planSums } from './sum-plan.ts'
import { kindsOf, ownersOf, type RowsQuery, requestsOf } from './sum-rows.ts'

/** The failed requests that are counted: from one moment on, before another. */
export interface ErrorsQuery extends Omit<RowsQuery, 'by' | 'labelled' | 'groupsMax' | 'columns'> {
  readonly sinceMs: number
  readonly untilMs: number
}

/** How many requests ended with an error code. */
interface CountedCode {
  readonly code: string
  readonly requests: number
  /** The newest of them; null: not known, because it was pruned or may be later than the range. */
  readonly latestId: string | null
}

/** Failed requests by error code. */
export interface CountedErrors {
  /** The most frequent first. */
  readonly codes: readonly CountedCode[]
  /** The failed requests whose code is not known: they were pruned before roll-ups had codes. */
  readonly unknown: number
}

interface StoredCount {
  readonly code: string
  readonly requests: number
  readonly latest_id: string
}

/** Counts failed requests by error code, in whole days and hours from roll-ups, and the others one by one. */
export async function readErrors(
  view: Kysely<Tables>,
  { sinceMs, untilMs, ...asked }: ErrorsQuery,
): Promise<CountedErrors> {
  const query: RowsQuery = { ...asked, by: null, columns: 'amounts' }
  const periods = periodsBetween([sinceMs, untilMs])
  const detail = query.apiKeyId === null ? 'kinds' : 'keys'
  const plan = await planSums(view, { periods, detail })
  const counts = new Counts()
  for (const source of ['usage_days', 'usage_hours'] as const) {
    const numbers = [...plan[source].keys()]
    if (numbers.length === 0) continue
    const step = source === 'usage_days' ? 'day' : 'hour'
    const where = sql`step = ${sql.lit(step)} and number in (${sql.join(numbers)})
      ${ownersOf(query, source)} ${kindsOf(query)}`
    const { rows } = await sql<StoredCount>`
      select code, cast(sum(requests) as bigint) as requests, max(latest_id) as latest_id
      from usage_errors where ${where} group by code`.execute(view)
    counts.add(rows)
  }
  for (const span of plan.spans) counts.add(await readRequests(view, query, span))
  // There is one period: what was moved out of it is in no other.
  for (const span of plan.moved) counts.subtract(await readRequests(view, query, span))
  return counts.answer(await presentOf(view, counts.latestIds), idAt(untilMs))
}

function idAt(timeMs: number): string {
  return firstIdOf({ prefix: 'req', timeMs })
}

async function readRequests(
  view: Kysely<Tables>,
  query: RowsQuery,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Promise<readonly StoredCount[]> {
  const { rows } = await sql<StoredCount>`
    select error_code as code, cast(count(*) as bigint) as requests, max(id) as latest_id from requests
    where id >= ${idAt(fromMs)} and id < ${idAt(untilMs)} and error_code is not null
      ${requestsOf(query)} ${kindsOf(query)}
    group by error_code`.execute(view)
  return rows
}

/** Finds the requests that were not pruned. */
async function presentOf(
  view: Kysely<Tables>,
  requestIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (requestIds.length === 0) return new Set()
  const rows = await view
    .selectFrom('requests')
    .select('id')
    .where('id', 'in', requestIds)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

class Counts {
  readonly #codes = new Map<string, { requests: number; latestId: string }>()

  get latestIds(): readonly string[] {
    return [...this.#codes.values()].map(({ latestId }) => latestId).filter((id) => id !== '')
  }

  add(rows: readonly StoredCount[]): void {
    for (const { code, requests, latest_id } of rows) {
      const counted = this.#codes.get(code) ?? { requests: 0, latestId: '' }
      counted.requests += requests
      if (latest_id > counted.latestId) counted.latestId = latest_id
      this.#codes.set(code, counted)
    }
  }

  subtract(rows: readonly StoredCount[]): void {
    this.add(rows.map((row) => ({ ...row, requests: -row.requests, latest_id: '' })))
  }

  /** Shows only requests that are there, and sort before an id. */
  answer(present: ReadonlySet<string>, untilId: string): CountedErrors {
    const codes = [...this.#codes]
      .filter(([code, { requests }]) => code !== '' && requests > 0)
      .map(([code, { requests, latestId }]) => {
        const isShown = present.has(latestId) && latestId < untilId
        return { code, requests, latestId: isShown ? latestId : null }
      })
      .sort((a, b) => b.requests - a.requests || a.code.localeCompare(b.code))
    return { codes, unknown: this.#codes.get('')?.requests ?? 0 }
  }
}
