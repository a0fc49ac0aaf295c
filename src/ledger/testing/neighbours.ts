import { Client } from 'pg'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import type { BatchedLedger } from '../engines/batched-ledger.ts'
import { postgresLedger } from '../engines/create-ledger.ts'
import type { LedgerLimits, OpenHoldInput } from '../ledger.ts'
import { createPostgresBench, type PostgresBench } from './postgres-bench.ts'
import { holdInput, runScript } from './script.ts'

type LedgerInput = Partial<Parameters<typeof postgresLedger>[0]>

/** Limits that no test of several ledgers meets. */
export const WIDE_LIMITS: LedgerLimits = {
  openHoldsMax: 100,
  keyRequestsPerMinuteMax: 1_000_000,
  unbackedAccountRequestsPerMinuteMax: 1_000_000,
}

/** A PostgreSQL bench, further ledgers on its database, and the connection of an outsider. */
export class Neighbours {
  readonly bench: PostgresBench
  readonly outsider: Client
  readonly #closing: { close(): Promise<void> }[] = []

  private constructor(bench: PostgresBench, outsider: Client) {
    this.bench = bench
    this.outsider = outsider
  }

  static async open(): Promise<Neighbours> {
    const bench = await createPostgresBench({ limits: WIDE_LIMITS })
    const outsider = new Client(bench.url)
    outsider.on('error', () => {})
    await outsider.connect()
    return new Neighbours(bench, outsider)
  }

  /** Another ledger on the database, as another instance has it. */
  beside(input: LedgerInput = {}): BatchedLedger {
    const ledger = postgresLedger({ url: this.bench.url, limits: WIDE_LIMITS, ...input })
    this.#closing.push(ledger)
    return ledger
  }

  /** As {@link beside}, over a connection that can be cut. */
  async severable(input: LedgerInput = {}) {
    const proxy = await startSeveringProxy(this.bench.url)
    this.#closing.push(proxy)
    return { proxy, ledger: this.beside({ url: proxy.url, unsureRetryMs: 1, ...input }) }
  }

  /** Makes accounts with paid credit, each with a key: A and KA, B and KB. */
  async setUp(accounts: readonly string[], creditMicros = 1_000): Promise<void> {
    for (const id of accounts) {
      await this.bench.createAccount(id)
      await this.bench.createApiKey(`K${id}`, id)
      await runScript(this.bench, `credit ${id} backed ${creditMicros} first`)
    }
  }

  /** Resolves once a statement waits for a lock that another transaction has. */
  async untilStatementWaits(): Promise<void> {
    for (;;) {
      // Inside a transaction the server answers all queries from the snapshot of the first.
      await this.outsider.query('select pg_stat_clear_snapshot()')
      const { rows } = await this.outsider.query(
        `select pid from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
      if (rows.length > 0) return
    }
  }

  /** Closes everything, once the audit has found the ledger exact. */
  async close(): Promise<void> {
    await this.outsider.end()
    for (const each of this.#closing.splice(0).reverse()) await each.close()
    await this.bench.auditAndClose()
  }
}

/** The hold of a request. By position: its ID, its key and its account. */
export function holdOf(requestId: string, apiKeyId: string, accountId = 'A'): OpenHoldInput {
  return holdInput(requestId, { accountId, apiKeyId, amountMicros: 10 })
}
