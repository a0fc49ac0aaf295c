import type { Kysely } from 'kysely'
import type { StoredRow } from '../../store/table.ts'
import type { Store } from '../../store/open-store.ts'
import {
  ACCOUNTS,
  API_KEYS,
  CREDIT_CODES,
  ENTRIES,
  PRUNED_REQUESTS,
  type PrunedRequestsRow,
  REQUESTS,
  type Tables,
} from '../../store/schema.ts'
import { auditRequest, AuditTally, type Difference } from './audit-tally.ts'

/** What an audit found. */
export interface Audit {
  /** Whether every figure is exact. */
  readonly ok: boolean
  /** The number of rows that were recomputed. */
  readonly checked: {
    readonly accounts: number
    readonly apiKeys: number
    readonly requests: number
    readonly entries: number
    readonly creditCodes: number
  }
  /** The request that opened its hold last; null where there is none, or all were pruned. */
  readonly newestRequest: NewestRequest | null
  /** The first thousand. */
  readonly differences: readonly Difference[]
}

/** What shows how old a copy of a store is. */
interface NewestRequest {
  readonly id: string
  readonly openedAtMs: number
}

const PAGE_ROWS = 2_000
const DIFFERENCES_MAX = 1_000

/** What rooms above the ledger compare of their own rows, on the same view. */
export type AuditCheck = (view: Kysely<Tables>, findings: AuditFindings) => Promise<void>

/** Takes what a check found, and how many rows it has read. */
export interface AuditFindings {
  readonly found: (differences: readonly Difference[]) => void
  readonly read: (rows: number) => void
}

interface AuditInput {
  /** Default: none. */
  readonly checks?: readonly AuditCheck[]
  /** Called every now and then with how many rows have been read. */
  readonly onRows?: (rows: number) => void
}

/**
 * Recomputes every balance, hold, count and charge from the rows behind it, on one view of the store
 * while it goes on working. What entries charged for requests that are not there must be what was added
 * up of them when they were pruned. Throws where a row can't be read, `StoreUnavailable` where the store can't.
 */
export function auditStore(store: Store, input: AuditInput = {}): Promise<Audit> {
  return store.snapshot((view) => auditView(view, input))
}

/** As {@link auditStore}, on a view that the caller has open. */
export async function auditView(
  view: Kysely<Tables>,
  { checks = [], onRows }: AuditInput = {},
): Promise<Audit> {
  const tally = new AuditTally()
  const differences: Difference[] = []
  const found = (more: readonly Difference[]): void => {
    differences.push(...more.slice(0, DIFFERENCES_MAX - differences.length))
  }
  let rowsRead = 0
  const read = (rows: number): void => {
    rowsRead += rows
    onRows?.(rowsRead)
  }
  const findings = { tally, found, read }
  const entries = await addEntries(view, findings)
  const { requests, newestRequest } = await auditRequests(view, findings)
  const accounts = await auditAccounts(view, findings)
  const apiKeys = await auditApiKeys(view, findings)
  const creditCodes = await auditCreditCodes(view, findings)
  found(tally.orphans())
  for (const check of checks) await check(view, findings)
  return {
    ok: differences.length === 0,
    checked: { accounts, apiKeys, requests, entries, creditCodes },
    newestRequest,
    differences,
  }
}

interface Findings extends AuditFindings {
  readonly tally: AuditTally
}

async function addEntries(view: Kysely<Tables>, { tally, read }: Findings): Promise<number> {
  let count = 0
  let after = { accountId: '', number: 0 }
  for (;;) {
    const rows = await view
      .selectFrom('entries')
      .selectAll()
      .where(({ eb, or, and }) =>
        or([
          eb('account_id', '>', after.accountId),
          and([eb('account_id', '=', after.accountId), eb('number', '>', after.number)]),
        ]),
      )
      .orderBy('account_id')
      .orderBy('number')
      .limit(PAGE_ROWS)
      .execute()
    for (const row of rows) tally.addEntry(ENTRIES.read(row))
    count += rows.length
    read(rows.length)
    const last = rows.at(-1)
    if (last === undefined) return count
    after = { accountId: last.account_id, number: last.number }
  }
}

async function auditRequests(
  view: Kysely<Tables>,
  { tally, found, read }: Findings,
): Promise<{ readonly requests: number; readonly newestRequest: NewestRequest | null }> {
  let newest: NewestRequest | null = null
  const requests = await eachPage(view, {
    table: 'requests',
    read,
    async audit({ rows, after, last }) {
      const entries = await view
        .selectFrom('entries')
        .selectAll()
        .where('request_id', '>', after)
        .where('request_id', '<=', last)
        .execute()
      const byRequest = Map.groupBy(
        entries.map((row) => ENTRIES.read(row)),
        ({ requestId }) => requestId,
      )
      for (const row of rows) {
        const request = REQUESTS.read(row)
        tally.addRequest(request)
        found(auditRequest(request, byRequest.get(request.id) ?? []))
        newest = laterOf(newest, request)
      }
    },
  })
  return { requests, newestRequest: newest }
}

function laterOf(newest: NewestRequest | null, { id, openedAtMs }: NewestRequest): NewestRequest {
  return newest === null || openedAtMs >= newest.openedAtMs ? { id, openedAtMs } : newest
}

function auditAccounts(view: Kysely<Tables>, { tally, found, read }: Findings): Promise<number> {
  return eachPage(view, {
    table: 'accounts',
    read,
    audit({ rows }) {
      for (const row of rows) found(tally.auditAccount(ACCOUNTS.read(row)))
    },
  })
}

function auditApiKeys(view: Kysely<Tables>, { tally, found, read }: Findings): Promise<number> {
  return eachPage(view, {
    table: 'api_keys',
    read,
    async audit({ rows, after, last }) {
      const pruned = await prunedBetween(view, { after, last })
      for (const row of rows) {
        found(tally.auditApiKey(API_KEYS.read(row), pruned.get(row.id) ?? null))
      }
    },
  })
}

/** What was pruned, by key, of the keys of a page. */
async function prunedBetween(
  view: Kysely<Tables>,
  { after, last }: { readonly after: string; readonly last: string },
): Promise<ReadonlyMap<string, PrunedRequestsRow>> {
  const rows = await view
    .selectFrom('pruned_requests')
    .selectAll()
    .where('api_key_id', '>', after)
    .where('api_key_id', '<=', last)
    .execute()
  return new Map(rows.map((row) => [row.api_key_id, PRUNED_REQUESTS.read(row)]))
}

function auditCreditCodes(view: Kysely<Tables>, { tally, found, read }: Findings): Promise<number> {
  return eachPage(view, {
    table: 'credit_codes',
    read,
    audit({ rows }) {
      for (const row of rows) found(tally.auditCreditCode(CREDIT_CODES.read(row)))
    },
  })
}

interface PagesById {
  readonly table: 'requests' | 'accounts' | 'api_keys' | 'credit_codes'
  readonly audit: (page: PageById) => void | Promise<void>
  readonly read: Findings['read']
}

interface PageById {
  readonly rows: readonly (StoredRow & { readonly id: string })[]
  /** The last id of the page before; empty for the first. */
  readonly after: string
  /** Its own last id. */
  readonly last: string
}

/** Goes through a table in the order of its ids, and returns how many rows it had. */
async function eachPage(view: Kysely<Tables>, { table, audit, read }: PagesById): Promise<number> {
  let count = 0
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
    if (last === undefined) return count
    await audit({ rows, after, last })
    count += rows.length
    read(rows.length)
    after = last
  }
}
