import type { Kysely } from 'kysely'
import type { StoreGapRow } from '../../store/gap-tables.ts'
import { ACCOUNTS, API_KEYS, ENTRIES, REQUESTS, type Tables } from '../../store/schema.ts'
import type { Store } from '../../store/store.ts'
import type { StoredRow } from '../../store/table.ts'
import { PRUNED_REQUESTS } from '../../store/usage-tables.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { listStoreGaps } from '../store-gaps.ts'
import { AuditTally, auditRequest, chargesOf } from './audit-tally.ts'
import { CREDITED, CREDITED_KINDS, type CreditedKind } from './credit-tally.ts'
import type { Difference } from './difference.ts'
import type { PrunedCharges } from './period-tally.ts'

/** The kinds of rows that are recomputed. */
type AuditedKind = 'accounts' | 'apiKeys' | 'requests' | 'entries' | CreditedKind

/** The result of an audit. */
export interface Audit {
  /** Whether every stored figure equals the recomputed one. */
  readonly ok: boolean
  /** The number of rows that were recomputed. */
  readonly checked: Readonly<Record<AuditedKind, number>>
  /** The latest request, which shows how old a copy of a store is; null if there is none, or all were pruned. */
  readonly newestRequest: { readonly id: string; readonly openedAtMs: number } | null
  /**
   * The times in the last 90 days at which the database lost commits, newest first: the audit only sees the rows that
   * are there.
   */
  readonly wentBack: readonly StoreGapRow[]
  /** The figures that differ: the first thousand. */
  readonly differences: readonly Difference[]
}

const PAGE_ROWS = 2_000
const DIFFERENCES_MAX = 1_000
const WENT_BACK_SHOWN_MS = 90 * DAY_MS

/** A check of rows that belong to rooms above the ledger, on the view of the audit. */
export type AuditCheck = (view: Kysely<Tables>, findings: AuditFindings) => Promise<void>

/** Takes the findings of a check, and the number of rows that it has read. */
export interface AuditFindings {
  readonly found: (differences: readonly Difference[]) => void
  readonly read: (rows: number) => void
}

interface AuditInput {
  /** Further checks, of rows that belong to rooms above the ledger. Default: none. */
  readonly checks?: readonly AuditCheck[]
  /** Called from time to time with the number of rows read so far. */
  readonly onRows?: (rows: number) => void
}

/**
 * Recomputes every balance, hold, count and charge from the rows behind it, on one view of the store. A server can keep
 * working meanwhile. Entries of requests that do not exist must add up to `pruned_requests`. Throws if a row can't
 * be read, and `StoreUnavailable` where the store can't.
 */
export function auditStore(store: Store, input: AuditInput = {}): Promise<Audit> {
  return store.snapshot((view) => auditView(view, input))
}

/** Like {@link auditStore}, on a view that the caller has open. */
export async function auditView(
  view: Kysely<Tables>,
  { checks = [], onRows }: AuditInput = {},
): Promise<Audit> {
  const tally = new AuditTally()
  const differences: Difference[] = []
  const found = (more: readonly Difference[]): void => {
    differences.push(...more.slice(0, DIFFERENCES_MAX - differences.length))
  }
  const checked = nothingChecked()
  let rowsRead = 0
  const read = (rows: number): void => {
    rowsRead += rows
    onRows?.(rowsRead)
  }
  const readOf = (kind: AuditedKind, rows: number): void => {
    checked[kind] += rows
    read(rows)
  }
  for await (const rows of entryPages(view)) {
    for (const row of rows) tally.addEntry(ENTRIES.read(row))
    readOf('entries', rows.length)
  }
  for (const row of await rowsWithPeriods(view)) tally.watchPeriod(row)
  const withoutCosts = await instancesWithoutCosts(view)
  let newestRequest: Audit['newestRequest'] = null
  for await (const { rows, after, last } of pagesById(view, 'all_requests')) {
    const entries = await entriesBetween(view, { after, last })
    for (const row of rows) {
      const request = REQUESTS.read(row)
      const { id, openedAtMs, instanceId } = request
      tally.addRequest(request)
      const keepsCost = !withoutCosts.has(instanceId)
      found(auditRequest(request, { entries: entries.get(id) ?? [], keepsCost }))
      if (openedAtMs >= (newestRequest?.openedAtMs ?? 0)) newestRequest = { id, openedAtMs }
    }
    readOf('requests', rows.length)
  }
  for await (const { rows } of pagesById(view, 'accounts')) {
    for (const row of rows) {
      const account = ACCOUNTS.read(row)
      const pruned = account.period === null ? null : await prunedOf(view, account.id)
      found(tally.auditAccount(account, pruned))
    }
    readOf('accounts', rows.length)
  }
  for await (const { rows, after, last } of pagesById(view, 'api_keys')) {
    const pruned = await prunedBetween(view, { after, last })
    for (const row of rows) {
      found(tally.auditApiKey(API_KEYS.read(row), pruned.get(row.id) ?? null))
    }
    readOf('apiKeys', rows.length)
  }
  for (const kind of CREDITED_KINDS) {
    for await (const { rows } of pagesById(view, CREDITED[kind].table)) {
      for (const row of rows) found(tally.auditCredited(kind, row))
      readOf(kind, rows.length)
    }
  }
  found(tally.orphans())
  for (const check of checks) await check(view, { found, read })
  const wentBack = await listStoreGaps(view, Date.now() - WENT_BACK_SHOWN_MS)
  return { ok: differences.length === 0, checked, newestRequest, wentBack, differences }
}

function nothingChecked(): Record<AuditedKind, number> {
  const none = Object.fromEntries(CREDITED_KINDS.map((kind) => [kind, 0]))
  // `fromEntries` loses the type of the keys.
  const ofCredit = none as Record<CreditedKind, number>
  return { accounts: 0, apiKeys: 0, requests: 0, entries: 0, ...ofCredit }
}

/** The schema whose migration gave requests columns for their cost, and filled them. */
const SCHEMA_OF_COSTS = 32

/**
 * The instances of programs that write no cost with a charge. One that was frozen during a call may settle it
 * after the migration: reports count such a request among those whose cost is not known.
 */
async function instancesWithoutCosts(view: Kysely<Tables>): Promise<ReadonlySet<string>> {
  const rows = await view
    .selectFrom('instances')
    .select('id')
    .where('program_schema', '<', SCHEMA_OF_COSTS)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The accounts and keys that have an allowance: as many as operators have given one. */
async function rowsWithPeriods(view: Kysely<Tables>) {
  const accounts = await view
    .selectFrom('accounts')
    .selectAll()
    .where('period_starts_at_ms', 'is not', null)
    .execute()
  const apiKeys = await view
    .selectFrom('api_keys')
    .selectAll()
    .where('period_starts_at_ms', 'is not', null)
    .execute()
  return [...accounts.map((row) => ACCOUNTS.read(row)), ...apiKeys.map((row) => API_KEYS.read(row))]
}

/** The pruned requests of all keys of an account; null: none were pruned. */
async function prunedOf(view: Kysely<Tables>, accountId: string): Promise<PrunedCharges | null> {
  const rows = await view
    .selectFrom('pruned_requests')
    .selectAll()
    .where('account_id', '=', accountId)
    .execute()
  if (rows.length === 0) return null
  return rows
    .map((row) => chargesOf(PRUNED_REQUESTS.read(row)))
    .reduce((sum, more) => ({
      chargeMicros: sum.chargeMicros + more.chargeMicros,
      latestSettledAtMs: Math.max(sum.latestSettledAtMs, more.latestSettledAtMs),
    }))
}

/** All entries in the order of their key, a page at a time. */
async function* entryPages(view: Kysely<Tables>) {
  let after = { accountId: '', number: 0 }
  for (;;) {
    const rows = await view
      .selectFrom('entries')
      .selectAll()
      // One comparison: with two, both engines read all earlier entries.
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple('account_id', 'number'), '>', tuple(after.accountId, after.number)),
      )
      .orderBy('account_id')
      .orderBy('number')
      .limit(PAGE_ROWS)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = { accountId: last.account_id, number: last.number }
  }
}

/** The ids of a page: those behind `after`, up to `last`. */
interface IdRange {
  readonly after: string
  readonly last: string
}

/** All rows of a table in the order of their ids, a page at a time. */
async function* pagesById(
  view: Kysely<Tables>,
  table: 'all_requests' | 'accounts' | 'api_keys' | (typeof CREDITED)[CreditedKind]['table'],
): AsyncGenerator<IdRange & { readonly rows: readonly (StoredRow & { readonly id: string })[] }> {
  let after = ''
  for (;;) {
    const rows = await view
      .selectFrom(table)
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    const last = rows.at(-1)?.id
    if (last === undefined) return
    yield { rows, after, last }
    after = last
  }
}

/** The entries of the requests of a page, by request id. */
async function entriesBetween(view: Kysely<Tables>, { after, last }: IdRange) {
  const rows = await view
    .selectFrom('entries')
    .selectAll()
    .where('request_id', '>', after)
    .where('request_id', '<=', last)
    .execute()
  return Map.groupBy(
    rows.map((row) => ENTRIES.read(row)),
    ({ requestId }) => requestId,
  )
}

/** The sums of pruned requests of a page of keys, by key. */
async function prunedBetween(view: Kysely<Tables>, { after, last }: IdRange) {
  const rows = await view
    .selectFrom('pruned_requests')
    .selectAll()
    .where('api_key_id', '>', after)
    .where('api_key_id', '<=', last)
    .execute()
  return new Map(rows.map((row) => [row.api_key_id, PRUNED_REQUESTS.read(row)]))
}
