import type { PurchaseRow, RECEIPT_NUMBERS } from '../../store/sale-tables.ts'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  type CreditCodeRow,
  type Entry,
  type RequestRow,
} from '../../store/schema.ts'
import { NotSent, StoreRefused } from '../../store/store-failure.ts'
import type { RowOf } from '../../store/table.ts'
import { micros } from '../../vocabulary/money.ts'
import { applyCommand, recordedCommands, uncountedBy } from '../apply-command.ts'
import type { CommandKind, Ledger, LedgerCommand, LedgerVerdict } from '../commands.ts'
import { PERIODS, type PeriodCount, type Uncounted } from '../counts.ts'
import type { LedgerLimits } from '../ledger.ts'
import type { Change } from '../rows.ts'
import { BEGUN_PURCHASES } from '../rules/begun-purchases.ts'
import { KEYS } from '../rules/limits.ts'
import type { Terms } from '../rules/open-hold.ts'
import { UnitOfWork } from '../work.ts'
import type { ApiKeySettings, Bench } from './bench.ts'

export type Apply = (work: UnitOfWork, command: LedgerCommand, terms: Terms) => LedgerVerdict

interface MemoryBenchInput {
  readonly limits: LedgerLimits
  /** Default the rules themselves; a canary gives rules with a bug. */
  readonly apply?: Apply
}

/** Only the rules, over rows in memory. */
export function createMemoryBench(input: MemoryBenchInput): Bench {
  return new MemoryBench(input)
}

class MemoryBench implements Bench {
  readonly #limits: LedgerLimits
  readonly #apply: Apply
  readonly #accounts = new Map<string, AccountRow>()
  readonly #apiKeys = new Map<string, ApiKeyRow>()
  readonly #requests = new Map<string, RequestRow>()
  readonly #creditCodes = new Map<string, CreditCodeRow>()
  readonly #purchases = new Map<string, PurchaseRow>()
  readonly #receiptNumbers = new Map<string, RowOf<typeof RECEIPT_NUMBERS>>()
  readonly #entries: Entry[] = []
  nowMs = 0

  constructor(input: MemoryBenchInput) {
    this.#limits = input.limits
    this.#apply = input.apply ?? applyCommand
  }

  readonly ledger: Ledger = {
    ...recordedCommands(async (given) => this.#commit(given)),
    openHold: async (input) => {
      const verdict = this.#commit({ kind: 'openHold', input })
      if (verdict.kind === 'ended') throw new NotSent(verdict.state)
      return verdict
    },
    settle: async (input) => {
      const settled = this.#commit({ kind: 'settle', input })
      if (settled === null) throw new StoreRefused('no such hold')
      return settled
    },
    abandon: async (requestId) => {
      this.#commit({ kind: 'abandonHolds', input: [requestId] })
    },
    noteGeneration: (input) => {
      this.#commit({ kind: 'noteGeneration', input })
    },
    settleStanding: async (input) => this.#commit({ kind: 'settleStanding', input }),
    abandonInstance: async (input) => this.#commit({ kind: 'abandonInstance', input }),
    abandonHolds: async (input) => this.#commit({ kind: 'abandonHolds', input }),
  }

  async createAccount(id: string): Promise<void> {
    this.#accounts.set(id, { ...ACCOUNTS.start, id, name: id, createdAtMs: 0 })
  }

  async createApiKey(id: string, accountId: string): Promise<void> {
    const named = { name: id, keyHash: `hash of ${id}`, displayPrefix: id }
    this.#apiKeys.set(id, { ...API_KEYS.start, id, accountId, ...named, createdAtMs: 0 })
  }

  async setAccount(id: string, settings: { readonly disabled: boolean }): Promise<void> {
    this.#accounts.set(id, { ...(await this.account(id)), ...settings })
  }

  async setApiKey(id: string, { deleted, ...settings }: ApiKeySettings): Promise<void> {
    const deletion = deleted === undefined ? {} : { deletedAtMs: deleted ? 1 : null }
    this.#apiKeys.set(id, { ...(await this.apiKey(id)), ...settings, ...deletion })
  }

  async createCreditCode(row: CreditCodeRow): Promise<void> {
    this.#creditCodes.set(row.codeHash, row)
  }

  async account(id: string): Promise<AccountRow> {
    return found(this.#accounts.get(id))
  }

  async apiKey(id: string): Promise<ApiKeyRow> {
    return found(this.#apiKeys.get(id))
  }

  async request(id: string): Promise<RequestRow | undefined> {
    return this.#requests.get(id)
  }

  async purchase(source: string): Promise<PurchaseRow | undefined> {
    return this.#purchases.get(source)
  }

  async entries(accountId: string): Promise<readonly Entry[]> {
    return this.#entries.filter((entry) => entry.accountId === accountId)
  }

  async audit(): Promise<void> {}

  async close(): Promise<void> {}

  #commit<Kind extends CommandKind>(given: LedgerCommand<Kind>): LedgerVerdict<Kind> {
    // TypeScript does not see that a command of one generic kind is one of the union.
    const command = given as LedgerCommand
    const work = new UnitOfWork()
    for (const row of this.#accounts.values()) work.accounts.load(row)
    for (const row of this.#apiKeys.values()) work.apiKeys.load(row)
    for (const row of this.#requests.values()) work.requests.load(row)
    for (const row of this.#creditCodes.values()) work.creditCodes.load(row)
    for (const row of this.#purchases.values()) work.purchases.load(row)
    for (const row of this.#receiptNumbers.values()) work.receiptNumbers.load(row)
    for (const entry of this.#entries) work.entries.load(entry)
    for (const uncounted of uncountedBy(work, command, this.nowMs)) {
      work.loadCounted(uncounted, this.#counted(uncounted))
    }
    const verdict = this.#verdict(work, command)
    const { accounts, apiKeys, holds, requests, creditCodes, ...others } = work.changes().rows
    const { purchases, receiptNumbers, entries } = others
    for (const row of changed(accounts)) this.#accounts.set(row.id, row)
    for (const row of changed(apiKeys)) this.#apiKeys.set(row.id, row)
    for (const row of changed(holds)) this.#requests.set(row.id, row)
    for (const row of changed(requests)) this.#requests.set(row.id, row)
    for (const row of changed(creditCodes)) this.#creditCodes.set(row.codeHash, row)
    for (const row of changed(purchases)) this.#purchases.set(row.source, row)
    for (const row of changed(receiptNumbers)) this.#receiptNumbers.set(row.id, row)
    this.#entries.push(...entries.inserted)
    // Rules with a bug too answer a command of a kind with a verdict of that kind.
    return verdict as LedgerVerdict<Kind>
  }

  #counted(uncounted: Uncounted): unknown {
    switch (uncounted.count) {
      case KEYS:
        return this.#keyCount(uncounted)
      case BEGUN_PURCHASES:
        return this.#begunPurchases(uncounted)
      default:
        return this.#periodCount(uncounted)
    }
  }

  #begunPurchases({ id, span }: Uncounted): ReturnType<typeof BEGUN_PURCHASES.read> {
    const begun = [...this.#purchases.values()].filter(
      ({ accountId, createdAtMs, priceUnits }) =>
        accountId === id && createdAtMs > span.startsAtMs && priceUnits !== null,
    )
    const open = begun.filter(
      ({ state, expiresAtMs }) => state === 'open' && (expiresAtMs ?? 0) > span.endsAtMs,
    )
    const counted = begun.filter(({ state }) => state !== 'expired' && state !== 'dismissed')
    const creditMicros = counted.reduce((sum, row) => sum + row.creditMicros, 0)
    return { open: open.length, creditMicros }
  }

  #keyCount({ id, span }: Uncounted): ReturnType<typeof KEYS.read> {
    const own = [...this.#apiKeys.values()].filter(({ accountId }) => accountId === id)
    return {
      present: own.filter(({ deletedAtMs }) => deletedAtMs === null).length,
      made: own.filter(({ createdAtMs }) => createdAtMs > span.startsAtMs).length,
    }
  }

  #periodCount({ count, id, span }: Uncounted): PeriodCount {
    const isOwn = (row: RequestRow) =>
      (count === PERIODS.account ? row.accountId : row.apiKeyId) === id
    const rows = [...this.#requests.values()].filter(
      (row) => isOwn(row) && row.openedAtMs >= span.startsAtMs,
    )
    const inPeriod = rows.filter(({ openedAtMs }) => openedAtMs < span.endsAtMs)
    const sum = (figure: (row: RequestRow) => number) =>
      micros(inPeriod.reduce((total, row) => total + figure(row), 0))
    return {
      spendMicros: sum((row) => row.backedChargeMicros + row.freeChargeMicros),
      heldMicros: sum((row) => row.backedHeldMicros + row.freeHeldMicros),
      latestOpenedAtMs:
        rows.length === 0 ? null : Math.max(...rows.map(({ openedAtMs }) => openedAtMs)),
    }
  }

  #verdict(work: UnitOfWork, command: LedgerCommand): LedgerVerdict {
    try {
      return this.#apply(work, command, { nowMs: this.nowMs, limits: this.#limits })
    } catch (error) {
      // As a store's thread does: what a rule throws refuses the one command.
      throw new StoreRefused('refused', { cause: error })
    }
  }
}

function changed<Row extends object>(change: Change<Row>): readonly Row[] {
  return [...change.inserted, ...change.written, ...change.updated]
}

function found<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('the script names an account or key that it did not make')
  return row
}
