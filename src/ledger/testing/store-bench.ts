import type { Kysely } from 'kysely'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  type CreditCodeRow,
  type RequestRow,
  type Tables,
} from '../../store/schema.ts'
import type { DbWithIds, Store } from '../../store/store.ts'
import { createIdSource } from '../../vocabulary/ids.ts'
import { getRequest } from '../activity/activity.ts'
import { auditStore } from '../audit/audit.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import { findPurchase } from '../purchases.ts'
import type { ApiKeySettings, Bench } from './bench.ts'
import { entriesOf } from './entries-of.ts'
import { TestClock } from './test-clock.ts'

/** The ledger on a separate store, which is deleted at the end. Its IDs and its clock serve other parts too. */
export interface StoreBench extends Bench, DbWithIds {
  readonly ledger: BatchedLedger
  readonly store: Store
  readonly clock: TestClock
  /** The same bench through another ledger, which its caller closes. */
  with(ledger: BatchedLedger): StoreBench
  /** Throws if the ledger is not exact; closes either way. */
  auditAndClose(): Promise<void>
}

interface StoreBenchInput {
  readonly store: Store
  readonly ledger: BatchedLedger
  /** The clock of the ledger; default: one that only the bench reads. */
  readonly clock?: TestClock
  /** Deletes the store once it is closed. */
  readonly remove: () => Promise<void>
}

/** A bench on an open store of any engine. */
export function benchOnStore(input: StoreBenchInput): StoreBench {
  const { store, ledger, clock = new TestClock(), remove } = input
  const { db } = store
  const bench: StoreBench = {
    with: (other) => benchOnStore({ ...input, clock, ledger: other }),
    ledger,
    store,
    db,
    clock,
    ids: createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) }),
    get nowMs() {
      return clock.nowMs()
    },
    set nowMs(nowMs) {
      clock.set(nowMs)
    },
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
    purchase: (source) => purchaseOf(db, source),
    entries: (accountId) => entriesOf(db, accountId),
    async audit() {
      const audit = await auditStore(store)
      if (!audit.ok) throw new Error(`the ledger is not exact: ${JSON.stringify(audit, null, 2)}`)
    },
    async close() {
      await ledger.close()
      await store.close()
      await remove()
    },
    async auditAndClose() {
      try {
        await bench.audit()
      } finally {
        await bench.close()
      }
    },
  }
  return bench
}

/** Inserts an account without credit. */
async function insertAccount(db: Kysely<Tables>, id: string): Promise<void> {
  const row = { ...ACCOUNTS.start, id, name: id, createdAtMs: 0 }
  await db.insertInto('accounts').values(ACCOUNTS.record(row)).execute()
}

/** Inserts a key without limits. */
async function insertApiKey(
  db: Kysely<Tables>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
): Promise<void> {
  const named = { name: id, keyHash: `hash of ${id}`, displayPrefix: id }
  const row = { ...API_KEYS.start, id, accountId, ...named, createdAtMs: 0 }
  await db.insertInto('api_keys').values(API_KEYS.record(row)).execute()
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
  await db.insertInto('credit_codes').values(CREDIT_CODES.record(row)).execute()
}

async function accountOf(db: Kysely<Tables>, id: string): Promise<AccountRow> {
  const query = db.selectFrom('accounts').selectAll().where('id', '=', id)
  return ACCOUNTS.read(await query.executeTakeFirstOrThrow())
}

async function apiKeyOf(db: Kysely<Tables>, id: string): Promise<ApiKeyRow> {
  const query = db.selectFrom('api_keys').selectAll().where('id', '=', id)
  return API_KEYS.read(await query.executeTakeFirstOrThrow())
}

async function requestOf(db: Kysely<Tables>, id: string): Promise<RequestRow | undefined> {
  return (await getRequest(db, id)) ?? undefined
}

async function purchaseOf(db: Kysely<Tables>, source: string): Promise<PurchaseRow | undefined> {
  return (await findPurchase(db, source)) ?? undefined
}
