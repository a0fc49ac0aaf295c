import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { inOneView } from '../store/store.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { DAY_HOURS, requestIdsOf } from '../vocabulary/usage-step.ts'
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

/** How many accounts are looked at: those that failed last; within an hour, those with the most failures. */
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
  const rolled = await rolledBetween(db, { step: 'hour', from: fromHour, until: toHour })
  const day = { fromHour, toHour, rolled }
  const accountIds = await lastToFail(db, day)
  if (accountIds.length === 0) return new Map()
  const refused = await readRefused(db, { accountIds, fromHour })
  const groups = await inOneView(db, (view) =>
    readPeriods(view, {
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
  const worst = failing.slice(0, FAILING_ACCOUNTS_MAX)
  const codes = await mostFrequent(db, { ...day, accountIds: worst.map((one) => one.accountId) })
  return new Map(
    worst.map(({ accountId, ...counts }) => [
      accountId,
      { ...counts, code: codes.get(accountId)?.code ?? null },
    ]),
  )
}

/** The hours of a day that are looked at, and those of them that are rolled up. */
interface LookedAt {
  readonly fromHour: number
  readonly toHour: number
  readonly rolled: ReadonlyMap<number, number>
}

/**
 * The active accounts of which requests were refused or failed, hour by hour from the newest one, until there are enough. Of
 * the newest hour little has passed: the one before it is always looked at.
 */
async function lastToFail(
  db: Kysely<Tables>,
  { fromHour, toHour, rolled }: LookedAt,
): Promise<readonly string[]> {
  const found = new Set<string>()
  for (let hour = toHour - 1; hour >= fromHour; hour--) {
    if (found.size >= LOOKED_AT_MAX && hour < toHour - 2) break
    const refused = sql`sum(requests) as failures from refusals
      where hour = ${hour} and code <> 'account_suspended'`
    const { fromId, untilId } = requestIdsOf({ fromHour: hour, untilHour: hour + 1 })
    const failed = rolled.has(hour)
      ? sql`sum(requests) as failures from usage_errors
          where step = 'hour' and number = ${hour} and account_id <> ''`
      : sql`count(*) as failures from requests
          where id >= ${fromId} and id < ${untilId} and error_code is not null`
    for (const counted of [refused, failed]) {
      const { rows } = await sql<{ readonly account_id: string }>`
        select account_id, ${counted} and not exists (
          select 1 from accounts where accounts.id = account_id and disabled = 1)
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

/** The code with which most requests of each account were refused, or failed; accounts of which no code is known are left out. */
async function mostFrequent(
  db: Kysely<Tables>,
  { accountIds, fromHour, toHour, rolled }: LookedAt & { readonly accountIds: readonly string[] },
) {
  const most = new Map<string, { readonly code: string; readonly requests: number }>()
  if (accountIds.length === 0) return most
  const ofAccounts = sql`account_id in (${sql.join(accountIds)})`
  const counts = new Map<string, number>()
  const add = async (counted: RawBuilder<unknown>): Promise<void> => {
    const { rows } = await sql<CountedCode>`
      select account_id, code, cast(sum(requests) as bigint) as requests from ${counted}
      group by account_id, code order by 1, 2`.execute(db)
    for (const { account_id: accountId, code, requests } of rows) {
      const name = `${accountId} ${code}`
      const all = requests + (counts.get(name) ?? 0)
      counts.set(name, all)
      if (code !== '' && all > (most.get(accountId)?.requests ?? 0)) {
        most.set(accountId, { code, requests: all })
      }
    }
  }
  await add(
    sql`refusals where ${ofAccounts} and hour >= ${fromHour} and code <> 'account_suspended'`,
  )
  if (rolled.size > 0) {
    const hours = sql.join([...rolled.keys()])
    await add(sql`usage_errors where step = 'hour' and number in (${hours}) and ${ofAccounts}`)
  }
  for (let hour = fromHour; hour < toHour; hour++) {
    if (rolled.has(hour)) continue
    const { fromId, untilId } = requestIdsOf({ fromHour: hour, untilHour: hour + 1 })
    // Not the column itself: SQLite would read all requests of the accounts by its index.
    await add(sql`(select account_id, error_code as code, 1 as requests from requests
      where id >= ${fromId} and id < ${untilId} and error_code is not null
        and account_id || '' in (${sql.join(accountIds)})) as failed`)
  }
  return most
}

interface CountedCode {
  readonly account_id: string
  /** Empty: not known. */
  readonly code: string
  readonly requests: number
}
