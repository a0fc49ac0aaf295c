import type { Kysely } from 'kysely'
import { isUnsettled } from '../ledger/activity/unsettled.ts'
import { newReversals } from '../ledger/purchases.ts'
import { REMOVAL_NOTICE_MS } from '../ledger/removed-credit.ts'
import { listStoreGaps } from '../ledger/store-gaps.ts'
import type { Tables } from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { LOW_BALANCE_MICROS_DEFAULT } from '../vocabulary/money.ts'
import { reversalOf } from '../vocabulary/purchase.ts'
import { isFarAhead, type Raised } from './conditions.ts'
import { reportedMark } from './subjects.ts'

/** Accounts or keys that are looked at, and when. */
interface Looked {
  readonly subjectIds: readonly string[]
  readonly nowMs: number
}

/** The low accounts among these: their paid credit, held credit included, is below their amount. */
export async function lowBalances(
  db: Kysely<Tables>,
  { subjectIds: accountIds, nowMs }: Looked,
): Promise<readonly Raised[]> {
  if (accountIds.length === 0) return []
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'backed_balance_micros as balance', 'low_balance_micros as below'])
    .where('id', 'in', accountIds)
    // Without any credit yet, there was nothing that could become low.
    .where('has_backed_credit', '=', 1)
    .execute()
  return rows.flatMap(({ id, balance, below }): Raised[] => {
    const threshold = below ?? LOW_BALANCE_MICROS_DEFAULT
    if (balance >= threshold) return []
    const fields = { account_id: id, balance, low_balance: threshold }
    return [{ subjectId: id, sinceMs: nowMs, fields }]
  })
}

/**
 * The keys among these that have spent nine tenths of their credit limit, or of their allowance in the current
 * period. A key can be near both; each period is a subject of its own.
 */
export async function nearLimits(
  db: Kysely<Tables>,
  { subjectIds: apiKeyIds, nowMs }: Looked,
): Promise<readonly Raised[]> {
  if (apiKeyIds.length === 0) return []
  const rows = await db
    .selectFrom('api_keys')
    .select(['id', 'account_id as accountId', 'spend_micros as spend'])
    .select(['credit_limit_micros as limit', 'allowance_micros as allowance'])
    .select(['allowance_period as period', 'period_ends_at_ms as endsAtMs'])
    .select('period_spend_micros as periodSpend')
    .where('id', 'in', apiKeyIds)
    .where('deleted_at_ms', 'is', null)
    .where(({ eb, or }) => or([eb('credit_limit_micros', '>', 0), eb('allowance_micros', '>', 0)]))
    .execute()
  return rows.flatMap((row): Raised[] => {
    const { id, accountId, spend, limit, allowance, period, endsAtMs } = row
    const owner = { key_id: id, account_id: accountId }
    const near: Raised[] = []
    if (isNear(spend, limit)) {
      const fields = { ...owner, spend, credit_limit: limit }
      near.push({ sinceMs: nowMs, subjectId: id, mark: reportedMark(`${id} limit`), fields })
    }
    // A row has the period of its latest hold, which may be over.
    if (endsAtMs !== null && nowMs < endsAtMs && isNear(row.periodSpend, allowance)) {
      const resetsAt = new Date(endsAtMs).toISOString()
      const fields = { ...owner, spend: row.periodSpend, allowance, period, resets_at: resetsAt }
      const subjectId = `${id} ${period} until ${resetsAt}`
      near.push({ sinceMs: nowMs, subjectId, mark: reportedMark(`${id} allowance`), fields })
    }
    return near
  })
}

/** No spend is near a limit of zero, which lets no request in. */
function isNear(spendMicros: number | null, limitMicros: number | null): boolean {
  if (spendMicros === null || limitMicros === null || limitMicros === 0) return false
  return spendMicros * 10 >= limitMicros * 9
}

/**
 * After this time a request is reported as unresolved: requests that are looked up at once are mostly settled before.
 */
const UNRESOLVED_AFTER_MS = 60_000

/** A place in the list of unresolved requests. */
export interface UnresolvedPlace {
  readonly instanceId: string
  readonly requestId: string
}

/**
 * A page of the requests that have been unresolved for a minute, in the order of the index; `next` is null at its
 * end.
 */
export async function unresolvedRequests(
  db: Kysely<Tables>,
  {
    after,
    limit,
    nowMs,
  }: {
    readonly after: UnresolvedPlace
    readonly limit: number
    readonly nowMs: number
  },
): Promise<{ readonly raised: readonly Raised[]; readonly next: UnresolvedPlace | null }> {
  const rows = await db
    .selectFrom('requests')
    .select(['id', 'instance_id as instanceId', 'account_id as accountId', 'model_id as model'])
    .select(['api_key_id as apiKeyId', 'backed_held_micros as backed', 'free_held_micros as free'])
    .select(['ended_at_ms as endedAtMs', 'opened_at_ms as openedAtMs'])
    .where(isUnsettled('unresolved'))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('instance_id', 'id'), '>', tuple(after.instanceId, after.requestId)),
    )
    .orderBy('instance_id')
    .orderBy('id')
    .limit(limit)
    .execute()
  const raised = rows.flatMap((row): Raised[] => {
    const endedAtMs = row.endedAtMs ?? row.openedAtMs
    const isAhead = isFarAhead({ atMs: endedAtMs, nowMs })
    const sinceMs = isAhead ? nowMs : endedAtMs + UNRESOLVED_AFTER_MS
    if (sinceMs > nowMs) return []
    const fields = {
      request_id: row.id,
      account_id: row.accountId,
      key_id: row.apiKeyId,
      model: row.model,
      held: row.backed + row.free,
      ended_at: new Date(endedAtMs).toISOString(),
    }
    return [{ subjectId: row.id, sinceMs, fields }]
  })
  const last = rows.at(-1)
  const next =
    last !== undefined && rows.length === limit
      ? { instanceId: last.instanceId, requestId: last.id }
      : null
  return { raised, next }
}

/** The requests among these that are no longer unresolved. */
export async function resolvedOf(
  db: Kysely<Tables>,
  requestIds: readonly string[],
): Promise<readonly string[]> {
  if (requestIds.length === 0) return []
  const rows = await db
    .selectFrom('requests')
    .select('id')
    .where('id', 'in', requestIds)
    .where('state', '=', 'unresolved')
    .execute()
  const unresolved = new Set(rows.map(({ id }) => id))
  return requestIds.filter((id) => !unresolved.has(id))
}

/**
 * The upstreams that have listed no models for some time, and those that list models again. One that has never
 * listed any is neither until this process has run for that time: another may have waited longer. A list of a time that
 * is far ahead counts as none: the clock was wrong.
 */
export async function awayUpstreams(
  db: Kysely<Tables>,
  {
    upstreams,
    nowMs,
    sinceStartMs,
    awayAfterMs,
  }: {
    readonly upstreams: readonly string[]
    readonly nowMs: number
    /** From when on one that never listed any counts: when this process started, or its clock was set back. */
    readonly sinceStartMs: number
    readonly awayAfterMs: number
  },
): Promise<{ readonly raised: readonly Raised[]; readonly listed: readonly string[] }> {
  const rows = await db
    .selectFrom('catalog_state')
    .select(['upstream', 'refreshed_at_ms as refreshedAtMs'])
    .execute()
  const listedAtMs = new Map(
    rows
      .filter((row) => !isFarAhead({ atMs: row.refreshedAtMs, nowMs }))
      .map((row) => [row.upstream, row.refreshedAtMs]),
  )
  const isRecent = (atMs: number) => nowMs - atMs <= awayAfterMs
  const raised = upstreams.flatMap((upstream): Raised[] => {
    const fromMs = listedAtMs.get(upstream) ?? sinceStartMs
    if (isRecent(fromMs)) return []
    const fields = { upstream, last_listed_at: isoOrNull(listedAtMs.get(upstream)) }
    return [{ subjectId: upstream, sinceMs: fromMs + awayAfterMs, fields }]
  })
  const listed = upstreams.filter((upstream) => isRecent(listedAtMs.get(upstream) ?? -Infinity))
  return { raised, listed }
}

/** Times of the last day at which the database went back. */
export async function storeGaps(db: Kysely<Tables>, nowMs: number): Promise<readonly Raised[]> {
  const gaps = await listStoreGaps(db, nowMs - DAY_MS)
  return gaps.map(({ id, foundAtMs, fromMs, untilMs, chargeMicros, instanceId, ...counts }) => ({
    subjectId: id,
    sinceMs: foundAtMs,
    fields: {
      gap_id: id,
      instance_id: instanceId,
      found_at: isoOrNull(foundAtMs),
      from: isoOrNull(fromMs),
      until: isoOrNull(untilMs),
      charge: chargeMicros,
      ...counts,
    },
  }))
}

/** The refunds and disputes that were not sent yet, at most `limit`, oldest first. */
export async function unsentReversals(
  db: Kysely<Tables>,
  at: { readonly nowMs: number; readonly limit: number },
): Promise<readonly Raised[]> {
  const found = await newReversals(db, { notedBy: 'webhooks', ...at })
  return found.map(({ reference, amountMicros, createdAtMs, purchase, balanceMicros }): Raised => {
    const { id, accountId, creditMicros, reversedMicros, paymentRef } = purchase
    const fields = {
      purchase_id: id,
      account_id: accountId,
      payment_ref: paymentRef,
      amount: amountMicros,
      reversal: reversalOf(purchase),
      credit: creditMicros,
      reversed: reversedMicros,
      remaining: creditMicros - reversedMicros,
      balance: balanceMicros,
      created_at: new Date(createdAtMs).toISOString(),
    }
    return { subjectId: reference, sinceMs: createdAtMs, fields }
  })
}

const REVERSED = 'purchase.reversed'

/** The refunds and disputes whose notes are no longer needed: they are too old to be sent again. */
export async function oldReversals(
  db: Kysely<Tables>,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('webhook_conditions')
    .select('subject_id')
    .where('event', '=', REVERSED)
    .where('since_ms', '<', nowMs - 2 * REMOVAL_NOTICE_MS)
    .limit(limit)
    .execute()
  return rows.map((row) => row.subject_id)
}

function isoOrNull(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString()
}
