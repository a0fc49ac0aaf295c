import { randomFillSync } from 'node:crypto'
import { makeApiKey } from '../src/ledger/api-keys.ts'
import { openStore } from '../src/store/open-store.ts'
import { ACCOUNTS, API_KEYS, ENTRIES } from '../src/store/schema.ts'
import { systemClock } from '../src/vocabulary/clock.ts'
import { createIdSource } from '../src/vocabulary/ids.ts'
import { micros } from '../src/vocabulary/money.ts'
import { DEFAULT_PUBLIC_NAMES } from '../src/vocabulary/public-names.ts'

interface SeedStoreInput {
  /** The URL of the store, as in `DATABASE_URL`; no process may serve from it. */
  readonly url: string
  /** How many keys each account has. */
  readonly apiKeyCounts: readonly number[]
  /** The credit of each account, account by account; absent: more than any run can spend. */
  readonly creditMicros?: readonly number[]
}

/** A key that was seeded. */
export interface SeededKey {
  readonly apiKeyId: string
  readonly accountId: string
  /** The key that a client sends. */
  readonly text: string
}

// More than any run can spend.
const CREDIT_MICROS_DEFAULT = 1_000_000_000_000
// SQLite takes so many in a statement.
const VALUES_MAX = 32_766

/**
 * Makes the tables, and accounts with credit and keys, in an empty store. Resolves with the keys, account
 * by account.
 */
export async function seedStore(input: SeedStoreInput): Promise<SeededKey[]> {
  const ids = createIdSource({
    clock: systemClock,
    fillRandom: (bytes) => randomFillSync(bytes),
  })
  const nowMs = Date.now()
  const accountIds = input.apiKeyCounts.map(() => ids.next('acct')).sort()
  const accounts = accountIds.map((accountId, place) => ({
    accountId,
    creditMicros: input.creditMicros?.[place] ?? CREDIT_MICROS_DEFAULT,
  }))
  const apiKeys = accountIds.flatMap((accountId, place) =>
    Array.from({ length: input.apiKeyCounts[place] ?? 0 }, () => ({
      apiKeyId: ids.next('key'),
      accountId,
      ...makeApiKey(DEFAULT_PUBLIC_NAMES.keyTag),
    })),
  )
  await using closing = new AsyncDisposableStack()
  const store = await openStore({ url: input.url })
  closing.defer(() => store.close())
  await store.db.transaction().execute(async (trx) => {
    for (const page of pagesOf(accounts, ACCOUNTS)) {
      const rows = page.map(({ accountId, creditMicros }) =>
        ACCOUNTS.record({
          ...ACCOUNTS.start,
          id: accountId,
          name: 'bench',
          backedBalanceMicros: micros(creditMicros),
          hasBackedCredit: creditMicros > 0,
          entryCount: creditMicros > 0 ? 1 : 0,
          lastCreditNumber: creditMicros > 0 ? 1 : 0,
          lastCreditBalanceMicros: micros(creditMicros),
          createdAtMs: nowMs,
        }),
      )
      await trx.insertInto('accounts').values(rows).execute()
    }
    const funded = accounts.filter(({ creditMicros }) => creditMicros > 0)
    for (const page of pagesOf(funded, ENTRIES)) {
      const rows = page.map(({ accountId, creditMicros }) =>
        ENTRIES.record({
          ...ENTRIES.start,
          accountId,
          number: 1,
          kind: 'top_up',
          purse: 'backed',
          amountMicros: micros(creditMicros),
          reference: 'bench',
          createdAtMs: nowMs,
        }),
      )
      await trx.insertInto('entries').values(rows).execute()
    }
    for (const page of pagesOf(apiKeys, API_KEYS)) {
      const rows = page.map(({ apiKeyId, accountId, hash, displayPrefix }) =>
        API_KEYS.record({
          ...API_KEYS.start,
          id: apiKeyId,
          accountId,
          name: 'bench',
          keyHash: hash,
          displayPrefix,
          createdAtMs: nowMs,
        }),
      )
      await trx.insertInto('api_keys').values(rows).execute()
    }
  })
  return apiKeys.map(({ apiKeyId, accountId, text }) => ({ apiKeyId, accountId, text }))
}

/** The most rows of a table that one statement takes. */
function* pagesOf<T>(
  rows: readonly T[],
  { columns }: { readonly columns: readonly unknown[] },
): Generator<readonly T[]> {
  const atOnce = Math.floor(VALUES_MAX / columns.length)
  for (let at = 0; at < rows.length; at += atOnce) yield rows.slice(at, at + atOnce)
}
