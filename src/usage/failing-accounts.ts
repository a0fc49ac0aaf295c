import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import { readErrors } from './read-errors.ts'
import { readPeriods } from './read-periods.ts'

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

/** Accounts that fail, read again after half a minute: with ten thousand accounts a read adds up hundreds of thousands of rows. */
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
 * first. Refusals because an account is suspended do not count: an operator wants them.
 */
async function readFailingAccounts(
  db: Kysely<Tables>,
  nowMs: number,
): Promise<ReadonlyMap<string, FailingRequests>> {
  const toHour = Math.ceil(nowMs / HOUR_MS)
  const fromHour = toHour - DAY_HOURS
  const range = { fromMs: fromHour * HOUR_MS, toMs: toHour * HOUR_MS }
  const refused = await readRefused(db, fromHour)
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  const groups = await view.execute((trx) =>
    readPeriods(trx, {
      ...{ accountId: null, apiKeyId: null, by: 'account', columns: 'counts' },
      boundsMs: [range.fromMs, range.toMs],
    }),
  )
  const forwarded = new Map(groups.map(({ label, sums }) => [label ?? '', sums]))
  const failing = [...new Set([...refused.keys(), ...forwarded.keys()])]
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
    .slice(0, COUNTED_MAX)
  const active = await readActive(db, failing)
  const found = new Map<string, FailingRequests>()
  const worst = failing.filter(({ accountId }) => active.has(accountId))
  for (const { accountId, ...counts } of worst.slice(0, FAILING_ACCOUNTS_MAX)) {
    const code = await mostFrequent(db, { accountId, fromHour, ...range })
    found.set(accountId, { ...counts, code })
  }
  return found
}

/** The IDs of the accounts that are not suspended. */
async function readActive(
  db: Kysely<Tables>,
  accounts: readonly { readonly accountId: string }[],
): Promise<ReadonlySet<string>> {
  if (accounts.length === 0) return new Set()
  const ids = accounts.map(({ accountId }) => accountId)
  const query = db.selectFrom('accounts').select('id').where('id', 'in', ids)
  const rows = await query.where(sql<boolean>`disabled = 0`).execute()
  return new Set(rows.map(({ id }) => id))
}

/** The number of refused requests since an hour by account, of those with the most. */
async function readRefused(
  db: Kysely<Tables>,
  fromHour: number,
): Promise<ReadonlyMap<string, number>> {
  // An expression: by the column itself SQLite would read all kept hours, in the order of the primary key.
  const account = sql`account_id || ''`
  const { rows } = await sql<{ readonly account_id: string; readonly requests: number }>`
    select ${account} as account_id, cast(sum(requests) as bigint) as requests from refusals
    where hour >= ${fromHour} and code <> 'account_suspended'
    group by ${account} order by 2 desc, 1 limit ${sql.lit(COUNTED_MAX)}`.execute(db)
  return new Map(rows.map(({ account_id, requests }) => [account_id, requests]))
}

/** How many accounts are counted: those with the most refusals, and of these and others those with the most failures. */
const COUNTED_MAX = 1_000

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
