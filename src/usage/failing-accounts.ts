import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { DAY_HOURS, requestIdsOf } from '../vocabulary/usage-step.ts'
import { readErrors } from './read-errors.ts'
import { readPeriods } from './read-periods.ts'
import { rolledBetween } from './rolled.ts'

/** The requests of an account in the last 24 hours that were refused, or failed. */
interface FailingRequests {
  /** All requests, refused ones too. */
  readonly requests: number
  /** Refused before they were forwarded. */
  readonly refused: number
  /** Forwarded, and ended with an error. */
  readonly failed: number
  /** The most frequent error code of these; null: it is not known. */
  readonly code: string | null
}

/** How many accounts with the most refused and failed requests are read. */
export const FAILING_ACCOUNTS_MAX = 20

const FAILURES_MIN = 10
const FAILING_SHARE = 0.1

const KEPT_MS = 30_000

/** How many accounts are looked at: those that failed last, and of an hour those that failed most. */
const LOOKED_AT_MAX = 100

/** Accounts that fail, read again after half a minute. */
export class FailingAccounts {
  #last: { readonly atMs: number; readonly found: ReturnType<typeof readFailingAccounts> } | null =
    null

  /** As {@link readFailingAccounts}, of this moment or up to half a minute before. A failure is not kept. */
  read(db: Kysely<Tables>, nowMs: number): ReturnType<typeof readFailingAccounts> {
    const last = this.#last
    if (last !== null && Math.abs(nowMs - last.atMs) < KEPT_MS) return last.found
    const found = readFailingAccounts(db, nowMs)
    this.#last = { atMs: nowMs, found }
    found.catch(() => {
      if (this.#last?.found === found) this.#last = null
    })
    return found
  }
}

/**
 * The active accounts of which at least ten requests in the last 24 hours, and at least 10%, were refused or failed, the most
 * first. Refusals because an account is suspended do not count: an operator wants them. If more than
 * {@link LOOKED_AT_MAX} accounts failed, the others are not looked at: with ten thousand, it would take seconds.
 */
async function readFailingAccounts(
  db: Kysely<Tables>,
  nowMs: number,
): Promise<ReadonlyMap<string, FailingRequests>> {
  const toHour = Math.ceil(nowMs / HOUR_MS)
  const fromHour = toHour - DAY_HOURS
  const range = { fromMs: fromHour * HOUR_MS, toMs: toHour * HOUR_MS }
  const accountIds = await lastToFail(db, { fromHour, toHour })
  if (accountIds.length === 0) return new Map()
  const refused = await readRefused(db, { accountIds, fromHour })
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  const groups = await view.execute((trx) =>
    readPeriods(trx, {
      accountId: accountIds,
      apiKeyId: null,
      by: 'account',
      columns: 'counts',
      boundsMs: [range.fromMs, range.toMs],
    }),
  )
  const forwarded = new Map(groups.map(({ label, sums }) => [label ?? '', sums]))
  const failing = accountIds
    .map((accountId) => {
      const { requests = 0, failed = 0 } = forwarded.get(accountId) ?? {}
      const refusedHere = refused.get(accountId) ?? 0
      return { accountId, requests: requests + refusedHere, refused: refusedHere, failed }
    })
    .filter(({ requests, refused: refusedHere, failed }) => {
      const failures = refusedHere + failed
      return failures >= FAILURES_MIN && failures >= requests * FAILING_SHARE
    })
    .sort((one, other) => other.refused + other.failed - one.refused - one.failed)
  const found = new Map<string, FailingRequests>()
  for (const { accountId, ...counts } of failing.slice(0, FAILING_ACCOUNTS_MAX)) {
    const code = await mostFrequent(db, { accountId, fromHour, ...range })
    found.set(accountId, { ...counts, code })
  }
  return found
}

/** The active accounts of which requests were refused or failed, hour by hour from the newest one, until there are enough. */
async function lastToFail(
  db: Kysely<Tables>,
  { fromHour, toHour }: { readonly fromHour: number; readonly toHour: number },
): Promise<readonly string[]> {
  const rolled = await rolledBetween(db, { step: 'hour', from: fromHour, until: toHour })
  const found = new Set<string>()
  for (let hour = toHour - 1; hour >= fromHour && found.size < LOOKED_AT_MAX; hour--) {
    const refused = sql`sum(requests) as failures from refusals
      where hour = ${hour} and code <> 'account_suspended'`
    const { fromId, untilId } = requestIdsOf({ fromHour: hour, untilHour: hour + 1 })
    const failed = rolled.has(hour)
      ? sql`sum(requests) as failures from usage_errors where step = 'hour' and number = ${hour}`
      : sql`count(*) as failures from requests
          where id >= ${fromId} and id < ${untilId} and error_code is not null`
    for (const counted of [refused, failed]) {
      const { rows } = await sql<{ readonly account_id: string }>`
        select account_id, ${counted} and account_id not in (select id from accounts where disabled = 1)
        group by account_id order by 2 desc, 1 limit ${sql.lit(LOOKED_AT_MAX)}`.execute(db)
      for (const { account_id } of rows) found.add(account_id)
    }
  }
  return [...found]
}

/** The number of refused requests of accounts since an hour. */
async function readRefused(
  db: Kysely<Tables>,
  { accountIds, fromHour }: { readonly accountIds: readonly string[]; readonly fromHour: number },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ readonly account_id: string; readonly requests: number }>`
    select account_id, cast(sum(requests) as bigint) as requests from refusals
    where account_id in (${sql.join(accountIds)}) and hour >= ${fromHour} and code <> 'account_suspended'
    group by account_id`.execute(db)
  return new Map(rows.map(({ account_id, requests }) => [account_id, requests]))
}

interface CodesQuery {
  readonly accountId: string
  readonly fromHour: number
  readonly fromMs: number
  readonly toMs: number
}

/** The code with which most requests of an account were refused, or failed. */
async function mostFrequent(
  db: Kysely<Tables>,
  { accountId, fromHour, fromMs: sinceMs, toMs: untilMs }: CodesQuery,
): Promise<string | null> {
  const { rows } = await sql<{ readonly code: string; readonly requests: number }>`
    select code, cast(sum(requests) as bigint) as requests from refusals
    where account_id = ${accountId} and hour >= ${fromHour} and code <> 'account_suspended'
    group by code order by 2 desc, code limit 1`.execute(db)
  const failed = await readErrors(db, { accountId, apiKeyId: null, sinceMs, untilMs })
  const [most] = [...rows, ...failed.codes.slice(0, 1)].toSorted(
    (one, other) => other.requests - one.requests,
  )
  return most?.code ?? null
}
