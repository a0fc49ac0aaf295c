import { sql } from 'kysely'
import { Passes } from '../store/passes.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { BatchedLedger } from './engines/batched-ledger.ts'

interface LapsedCreditInput {
  readonly store: Pick<Store, 'reports'>
  readonly ledger: Pick<BatchedLedger, 'submit'>
  /** The time that is in the store's rows. */
  readonly clock: Clock
  /** Called if the store failed; the next pass continues. */
  readonly onFailure: (cause: unknown) => void
  /** How many accounts are read at once. Default 500. */
  readonly accountsMax?: number
}

// A pass reads every account.
const PASS_INTERVAL_MS = 300_000

const ACCOUNTS_MAX_DEFAULT = 500

/**
 * Posts the expiry of free credit within minutes of it. The next request of its account would post it too, but an account
 * that sends none would keep the credit in its entries and statement. Several gateways may do so for the same store.
 */
export class LapsedCredit {
  readonly #input: LapsedCreditInput
  readonly #passes: Passes

  constructor(input: LapsedCreditInput) {
    this.#input = input
    this.#passes = new Passes({
      intervalMs: PASS_INTERVAL_MS,
      onFailure: input.onFailure,
      pass: async () => void (await this.pass()),
    })
  }

  /** Begins a pass at once, and another five minutes after each. */
  start(): void {
    this.#passes.start()
  }

  /** Ends with the running command. */
  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** Posts all expiries that are due, and returns how many. Rejects if the store fails. */
  async pass(): Promise<number> {
    const { ledger, accountsMax = ACCOUNTS_MAX_DEFAULT } = this.#input
    let posted = 0
    let afterId: string | null = ''
    while (afterId !== null) {
      const accountIds: readonly string[] = await this.#accountsAfter(afterId, accountsMax)
      for (const accountId of accountIds) {
        if (this.#passes.stopped) return posted
        if (await ledger.submit({ kind: 'lapseCredit', input: accountId })) posted++
      }
      afterId = accountIds.length < accountsMax ? null : (accountIds.at(-1) ?? null)
    }
    return posted
  }

  /** Accounts whose free credit has expired and is not held, with higher IDs. */
  async #accountsAfter(afterId: string, limit: number): Promise<readonly string[]> {
    const { store, clock } = this.#input
    const rows = await store.reports
      .selectFrom('accounts')
      .select('id')
      .where('free_expires_at_ms', '<=', clock.nowMs())
      .where(sql<boolean>`free_balance_micros > free_held_micros`)
      .where('id', '>', afterId)
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }
}
