import type { Kysely } from 'kysely'
import type { Store } from '../../store/open-store.ts'
import type { Tables } from '../../store/tables.ts'
import { getRequest, listEntries } from '../activity/activity.ts'
import { auditStore } from '../audit/audit.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import { accountRowOf, apiKeyRowOf } from '../engines/columns.ts'
import type { Entry } from '../ledger.ts'
import type { AccountRow, ApiKeyRow, CreditCodeRow, RequestRow } from '../rows.ts'
import type { ApiKeySettings, Bench } from './bench.ts'

/** The ledger on a store of its own, which is deleted at the end. */
export interface StoreBench extends Bench {
  readonly ledger: BatchedLedger
  readonly store: Store
}

export interface StoreBenchInput {
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly setNowMs: (nowMs: number) => void
  /** Deletes the store once it is closed. */
  readonly remove: () => Promise<void>
}

/** A bench on an open store of any engine. */
export function benchOnStore({ store, ledger, setNowMs, remove }: StoreBenchInput): StoreBench {
  const { db } = store
  return {
    ledger,
    store,
    setNowMs,
    createAccount: (id) => insertAccount(db, id),
    createApiKey: (id, accountId) => insertApiKey(db, { id, accountId }),
    async setAccount(id, { disabled }) {
      const change = { disabled: disabled ? 1 : 0 }
      await db.updateTable('accounts').set(change).where('id', '=', id).execute()
    },
    setApiKey: (id, settings) => updateApiKey(db, { id, ...settings }),
    createCreditCode: (row) => insertCreditCode(db, row),
    account: (id) => accountOf(db, id),
    apiKey: (id) => apiKeyOf(db, id),
    request: (id) => requestOf(db, id),
    entries: (accountId) => entriesOf(db, accountId),
    async audit() {
      const audit = await auditStore(store)
      if (!audit.ok) throw new Error(`the books are not exact: ${JSON.stringify(audit, null, 2)}`)
    },
    async close() {
      await ledger.close()
      await store.close()
      await remove()
    },
  }
}

/** Inserts an account without credit. */
async function insertAccount(db: Kysely<Tables>, id: string): Promise<void> {
  const row = { id, name: id, email: null, disabled: 0, created_at_ms: 0, free_expires_at_ms: null }
  const figures = {
    backed_balance_micros: 0,
    backed_held_micros: 0,
    free_balance_micros: 0,
    free_held_micros: 0,
    has_backed_credit: 0,
    request_window: '',
    entry_count: 0,
  }
  await db
    .insertInto('accounts')
    .values({ ...row, ...figures })
    .execute()
}

/** Inserts a key without limits. */
async function insertApiKey(
  db: Kysely<Tables>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({
      id,
      account_id: accountId,
      name: id,
      key_hash: `hash of ${id}`,
      display_prefix: id,
      disabled: 0,
      deleted_at_ms: null,
      expires_at_ms: null,
      credit_limit_micros: null,
      created_at_ms: 0,
      spend_micros: 0,
      held_micros: 0,
      open_holds: 0,
      request_window: '',
    })
    .execute()
}

async function updateApiKey(
  db: Kysely<Tables>,
  { id, ...settings }: ApiKeySettings & { readonly id: string },
): Promise<void> {
  const change = {
    ...(settings.disabled === undefined ? {} : { disabled: settings.disabled ? 1 : 0 }),
    ...(settings.deleted === undefined ? {} : { deleted_at_ms: settings.deleted ? 1 : null }),
    ...(settings.expiresAtMs === undefined ? {} : { expires_at_ms: settings.expiresAtMs }),
    ...(settings.creditLimitMicros === undefined
      ? {}
      : { credit_limit_micros: settings.creditLimitMicros }),
  }
  await db.updateTable('api_keys').set(change).where('id', '=', id).execute()
}

async function insertCreditCode(db: Kysely<Tables>, row: CreditCodeRow): Promise<void> {
  await db
    .insertInto('credit_codes')
    .values({
      id: row.id,
      code_hash: row.hash,
      display_suffix: row.displaySuffix,
      amount_micros: row.amountMicros,
      created_at_ms: row.createdAtMs,
      expires_at_ms: row.expiresAtMs,
      revoked_at_ms: row.revokedAtMs,
      redeemed_at_ms: row.redeemedAtMs,
      redeemed_by: row.redeemedBy,
    })
    .execute()
}

async function accountOf(db: Kysely<Tables>, id: string): Promise<AccountRow> {
  const query = db.selectFrom('accounts').selectAll().where('id', '=', id)
  return accountRowOf({ ...(await query.executeTakeFirstOrThrow()) })
}

async function apiKeyOf(db: Kysely<Tables>, id: string): Promise<ApiKeyRow> {
  const query = db.selectFrom('api_keys').selectAll().where('id', '=', id)
  return apiKeyRowOf({ ...(await query.executeTakeFirstOrThrow()) })
}

async function requestOf(db: Kysely<Tables>, id: string): Promise<RequestRow | undefined> {
  return (await getRequest(db, id)) ?? undefined
}

async function entriesOf(db: Kysely<Tables>, accountId: string): Promise<readonly Entry[]> {
  const { entries } = await listEntries(db, { accountId, limit: 100_000 })
  return entries.toReversed()
}
