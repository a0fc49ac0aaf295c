import { type Kysely, sql } from 'kysely'
import { Passes } from '../store/passes.ts'
import type { Tables } from '../store/schema.ts'
import { NotSent } from '../store/store-failure.ts'
import { REFUSALS, type RefusalRow } from '../store/usage-tables.ts'
import { type Clock, HOUR_MS } from '../vocabulary/clock.ts'
import { REFUSALS_KEPT_DAYS } from '../vocabulary/date-range.ts'
import type { ProblemCode } from '../vocabulary/problem.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'

interface RefusalCounterInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** Called with the number of refused requests that are missing from the counts, because memory was full. */
  readonly onUncounted: (requests: number) => void
  /** Called when the store failed; the next pass continues. */
  readonly onFailure: (cause: unknown) => void
  /** The most counts in memory. Default 10,000. */
  readonly cellsMax?: number
  /** The most counts of an account in an hour that name its API keys. Default 200. */
  readonly namedMax?: number
}

/** A request that was refused before its hold opened. */
interface Refusal {
  readonly accountId: string
  readonly apiKeyId: string
  /** The problem that it was answered with. */
  readonly code: ProblemCode
}

const WRITE_INTERVAL_MS = 5_000
const CELLS_MAX_DEFAULT = 10_000
const NAMED_MAX_DEFAULT = 200

/** The ID in counts of all API keys of an account that have none of their own. */
const OTHER_KEYS = ''
const ROWS_AT_ONCE_LOG2 = 6

/**
 * Counts requests that were refused before their holds opened, by account, API key, problem code and hour. They are
 * counted in memory and added to the store every five seconds and at the end. A flood of refusals of one key is one row.
 * A flood by many keys of an account is at most `namedMax` rows an hour, and one more for each code. If the process is
 * killed, the refusals of the last seconds are lost. Pairs of key and code that do not fit in memory are not counted until
 * the next write. Several gateways add to the same rows.
 */
export class RefusalCounter {
  readonly #input: RefusalCounterInput
  readonly #cellsMax: number
  readonly #passes: Passes
  #cells = new Map<string, RefusalRow>()
  /** The keys and codes of each account that have counts of their own in the newest hour. */
  #named = new Map<string, Set<string>>()
  #namedInHour = 0
  #uncounted = 0
  #prunedInHour: number | null = null

  constructor(input: RefusalCounterInput) {
    const { onFailure } = input
    this.#input = input
    this.#cellsMax = input.cellsMax ?? CELLS_MAX_DEFAULT
    this.#passes = new Passes({
      intervalMs: WRITE_INTERVAL_MS,
      onFailure,
      pass: async () => {
        await this.write()
        await this.#pruneHourly()
      },
    })
  }

  /** Begins to write counts and to remove old ones. */
  start(): void {
    this.#passes.start()
  }

  /** Counts a request. */
  count({ accountId, apiKeyId, code }: Refusal): void {
    const latestAtMs = this.#input.clock.nowMs()
    const hour = hourOf(latestAtMs)
    const isNamed = this.#isNamed({ accountId, apiKeyId, code }, hour)
    const keyId = isNamed ? apiKeyId : OTHER_KEYS
    this.#add({ accountId, hour, apiKeyId: keyId, code, requests: 1, latestAtMs })
  }

  /** Whether a count names its API key, as the first of an account in an hour do. */
  #isNamed({ accountId, apiKeyId, code }: Refusal, hour: number): boolean {
    if (hour !== this.#namedInHour) this.#named.clear()
    this.#namedInHour = hour
    const named = this.#named.get(accountId) ?? new Set()
    this.#named.set(accountId, named)
    const name = `${apiKeyId} ${code}`
    if (named.size < (this.#input.namedMax ?? NAMED_MAX_DEFAULT)) named.add(name)
    return named.has(name)
  }

  /**
   * Adds the counts to the store. Rejects if the store fails: counts that were surely not written stay for the next
   * time, and counts that may have been written are not repeated.
   */
  async write(): Promise<void> {
    const rows = [...this.#cells].sort(byName).map(([, row]) => row)
    const uncounted = this.#uncounted
    this.#cells = new Map()
    this.#uncounted = 0
    if (uncounted > 0) this.#input.onUncounted(uncounted)
    while (rows.length > 0) {
      // A power of two: SQLite keeps a prepared statement for each number of rows.
      const log2 = Math.min(ROWS_AT_ONCE_LOG2, Math.floor(Math.log2(rows.length)))
      const some = rows.splice(0, 2 ** log2)
      try {
        await addRows(this.#input.db, some)
      } catch (cause) {
        const unwritten = cause instanceof NotSent ? [...some, ...rows] : rows
        for (const row of unwritten) this.#add(row)
        throw cause
      }
    }
  }

  /** Removes the counts of hours that ended longer ago than they are kept. Rejects if the store fails. */
  async prune(): Promise<void> {
    const firstHour = hourOf(this.#input.clock.nowMs()) - REFUSALS_KEPT_DAYS * DAY_HOURS
    for (;;) {
      const hour = await oldestHour(this.#input.db)
      if (hour === null || hour >= firstHour || this.#passes.stopped) return
      // An hour at a time, so that other writers do not wait.
      await this.#input.db.deleteFrom('refusals').where('hour', '=', hour).execute()
    }
  }

  /** Writes the counts, and ends. */
  async stop(): Promise<void> {
    await this.#passes.stop()
    await this.write().catch(this.#input.onFailure)
  }

  async #pruneHourly(): Promise<void> {
    const hour = hourOf(this.#input.clock.nowMs())
    if (hour === this.#prunedInHour) return
    await this.prune()
    this.#prunedInHour = hour
  }

  #add(row: RefusalRow): void {
    const name = `${row.accountId} ${row.hour} ${row.apiKeyId} ${row.code}`
    const before = this.#cells.get(name)
    if (before === undefined && this.#cells.size >= this.#cellsMax) {
      this.#uncounted += row.requests
      return
    }
    this.#cells.set(name, {
      ...row,
      requests: row.requests + (before?.requests ?? 0),
      latestAtMs: Math.max(row.latestAtMs, before?.latestAtMs ?? 0),
    })
  }
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS)
}

// In one order everywhere, so that gateways which write the same rows do not wait for each other in a circle.
function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

async function addRows(db: Kysely<Tables>, rows: readonly RefusalRow[]): Promise<void> {
  await db
    .insertInto('refusals')
    .values(rows.map((row) => REFUSALS.record(row)))
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'hour', 'api_key_id', 'code']).doUpdateSet({
        requests: sql`refusals.requests + excluded.requests`,
        latest_at_ms: sql`case when excluded.latest_at_ms > refusals.latest_at_ms
          then excluded.latest_at_ms else refusals.latest_at_ms end`,
      }),
    )
    .execute()
}

/** The first hour that has counts; null: there are none. */
async function oldestHour(db: Kysely<Tables>): Promise<number | null> {
  const row = await db
    .selectFrom('refusals')
    .select(({ fn }) => fn.min('hour').as('hour'))
    .executeTakeFirst()
  return row?.hour ?? null
}

/** Refused requests that were answered with one code. */
interface CountedCode {
  readonly code: string
  readonly requests: number
  /** When the latest of them was answered. */
  readonly latest_at_ms: number
}

/**
 * Counts the refused requests of an account in whole hours, the most frequent first: by code, and by API key and code, but
 * for requests that were counted without their key.
 */
export async function readRefusals(
  db: Kysely<Tables>,
  {
    accountId,
    fromHour,
    untilHour,
    apiKeyIds,
    keysMax,
  }: {
    readonly accountId: string
    /** Hours since the Unix epoch: from the first on, before the other. */
    readonly fromHour: number
    readonly untilHour: number
    /** Only requests with these API keys; null: with any. */
    readonly apiKeyIds: readonly string[] | null
    /** The most rows by API key and code. */
    readonly keysMax: number
  },
) {
  const figures = sql`cast(sum(requests) as bigint) as requests, max(latest_at_ms) as latest_at_ms`
  const ofKeys = apiKeyIds === null ? sql`` : sql`and api_key_id in (${sql.join(apiKeyIds)})`
  const where = sql`account_id = ${accountId} and hour >= ${fromHour} and hour < ${untilHour} ${ofKeys}`
  const { rows: codes } = await sql<CountedCode>`
    select code, ${figures} from refusals where ${where}
    group by code order by 2 desc, code`.execute(db)
  const { rows: keys } = await sql<CountedCode & { readonly api_key_id: string }>`
    select code, api_key_id, ${figures} from refusals where ${where} and api_key_id <> ${OTHER_KEYS}
    group by code, api_key_id order by 3 desc, code, api_key_id limit ${sql.lit(keysMax)}`.execute(
    db,
  )
  return { codes, keys }
}
