import type { AccountRow, ApiKeyRow, Entry, RequestRow } from '../../store/schema.ts'
import type { StoredRow } from '../../store/table.ts'
import type { PrunedRequestsRow } from '../../store/usage-tables.ts'
import {
  chargeForCost,
  costBehind,
  ENTRY_FACTS,
  micros,
  parseDecimal,
} from '../../vocabulary/money.ts'
import { isCredit } from '../rules/credit.ts'
import { type CreditedKind, CreditTally } from './credit-tally.ts'
import { type Difference, differencesOf, type Figure, orphansOf } from './difference.ts'
import { PeriodTally, type PrunedCharges } from './period-tally.ts'

interface AccountTally {
  entries: number
  /** The number of the latest entry; equal to `entries` if no number is missing. */
  latestNumber: number
  backedBalanceMicros: number
  freeBalanceMicros: number
  lastCreditNumber: number
  lastCreditBalanceMicros: number
  backedHeldMicros: number
  freeHeldMicros: number
  hasBackedCredit: boolean
  freeExpiresAtMs: number | null
  openHolds: number
}

interface ApiKeyTally {
  spendMicros: number
  heldMicros: number
  openHolds: number
  /** The charges of entries less those of existing requests: the sums that pruned requests must have. */
  readonly ofPruned: {
    backedMicros: number
    freeMicros: number
    writtenOffMicros: number
  }
}

/** Adds up the rows behind the figures of accounts and keys. Knows no rule, only sums. */
export class AuditTally {
  readonly #accounts = new Map<string, AccountTally>()
  readonly #apiKeys = new Map<string, ApiKeyTally>()
  readonly #credit = new CreditTally()
  readonly #periods = new PeriodTally()

  /** Call it with every account and key that has an allowance, before the requests. */
  watchPeriod(row: Pick<AccountRow | ApiKeyRow, 'id' | 'period'>): void {
    this.#periods.watch(row)
  }

  addEntry(entry: Entry): void {
    const account = this.#account(entry.accountId)
    account.entries += 1
    account.latestNumber = entry.number
    if (entry.purse === 'backed') account.backedBalanceMicros += entry.amountMicros
    else account.freeBalanceMicros += entry.amountMicros
    if (ENTRY_FACTS[entry.kind].adds === 'paid') account.hasBackedCredit = true
    if (isCredit(entry)) {
      account.lastCreditNumber = entry.number
      account.lastCreditBalanceMicros = account.backedBalanceMicros + account.freeBalanceMicros
    }
    this.#credit.addEntry(entry)
    if (entry.expiresAtMs !== null) {
      account.freeExpiresAtMs = Math.max(account.freeExpiresAtMs ?? 0, entry.expiresAtMs)
    }
    if (entry.apiKeyId !== null) this.#addToApiKey(this.#apiKey(entry.apiKeyId), entry)
  }

  addRequest(row: RequestRow): void {
    const account = this.#account(row.accountId)
    account.backedHeldMicros += row.backedHeldMicros
    account.freeHeldMicros += row.freeHeldMicros
    const apiKey = this.#apiKey(row.apiKeyId)
    apiKey.heldMicros += row.backedHeldMicros + row.freeHeldMicros
    if (row.state === 'open') {
      account.openHolds += 1
      apiKey.openHolds += 1
    }
    this.#periods.addRequest(row)
    apiKey.ofPruned.backedMicros -= row.backedChargeMicros
    apiKey.ofPruned.freeMicros -= row.freeChargeMicros
    apiKey.ofPruned.writtenOffMicros -= row.writtenOffMicros
  }

  /** Compares an account with its sums, and removes them from the tally. `pruned`: of all of its keys. */
  auditAccount(row: AccountRow, pruned: PrunedCharges | null): readonly Difference[] {
    const tally = this.#account(row.id)
    this.#accounts.delete(row.id)
    return differencesOf({ table: 'accounts', rowId: row.id }, [
      ['entry_count', row.entryCount, tally.entries],
      ['entry_count', row.entryCount, tally.latestNumber],
      ['backed_balance_micros', row.backedBalanceMicros, tally.backedBalanceMicros],
      ['free_balance_micros', row.freeBalanceMicros, tally.freeBalanceMicros],
      ['last_credit_number', row.lastCreditNumber, tally.lastCreditNumber],
      ['last_credit_balance_micros', row.lastCreditBalanceMicros, tally.lastCreditBalanceMicros],
      ['backed_held_micros', row.backedHeldMicros, tally.backedHeldMicros],
      ['free_held_micros', row.freeHeldMicros, tally.freeHeldMicros],
      ['has_backed_credit', row.hasBackedCredit ? 1 : 0, tally.hasBackedCredit ? 1 : 0],
      ['free_expires_at_ms', row.freeExpiresAtMs, tally.freeExpiresAtMs],
      ['open_holds', row.openHolds, tally.openHolds],
      ...this.#periodFigures(row, pruned),
      // Free credit is never below zero, and no part of it is held twice.
      [
        'free_balance_micros',
        Math.max(row.freeBalanceMicros, tally.freeHeldMicros),
        tally.freeBalanceMicros,
      ],
    ])
  }

  /**
   * Compares a key and the sums of its pruned requests with the tally, and removes them from it.
   */
  auditApiKey(row: ApiKeyRow, pruned: PrunedRequestsRow | null): readonly Difference[] {
    const { spendMicros, heldMicros, openHolds, ofPruned } = this.#apiKey(row.id)
    this.#apiKeys.delete(row.id)
    return [
      ...differencesOf({ table: 'api_keys', rowId: row.id }, [
        ['spend_micros', row.spendMicros, spendMicros],
        ['held_micros', row.heldMicros, heldMicros],
        ['open_holds', row.openHolds, openHolds],
        ...this.#periodFigures(row, pruned === null ? null : chargesOf(pruned)),
      ]),
      ...differencesOf({ table: 'pruned_requests', rowId: row.id }, [
        ['account_id', pruned?.accountId ?? row.accountId, row.accountId],
        ['backed_charge_micros', pruned?.backedChargeMicros ?? 0, ofPruned.backedMicros],
        ['free_charge_micros', pruned?.freeChargeMicros ?? 0, ofPruned.freeMicros],
        ['written_off_micros', pruned?.writtenOffMicros ?? 0, ofPruned.writtenOffMicros],
      ]),
    ]
  }

  /** Compares a row with the credit that was posted for it, and removes it from the tally. */
  auditCredited(kind: CreditedKind, stored: StoredRow): readonly Difference[] {
    return this.#credit.audit(kind, stored)
  }

  /** The sums of accounts, keys and rows of credit that do not exist. */
  orphans(): readonly Difference[] {
    return [
      ...orphansOf('accounts', this.#accounts.keys()),
      ...orphansOf('api_keys', this.#apiKeys.keys()),
      ...this.#credit.orphans(),
    ]
  }

  #periodFigures(row: AccountRow | ApiKeyRow, pruned: PrunedCharges | null): readonly Figure[] {
    const right = this.#periods.expected(row, pruned)
    const { period } = row
    if (right === null || period === null) return []
    return [
      ['period_spend_micros', period.periodSpendMicros, right.spendMicros],
      ['period_held_micros', period.periodHeldMicros, right.heldMicros],
    ]
  }

  #addToApiKey(apiKey: ApiKeyTally, { kind, purse, amountMicros }: Entry): void {
    if (kind === 'write_off') {
      apiKey.ofPruned.writtenOffMicros += amountMicros
      return
    }
    apiKey.spendMicros -= amountMicros
    if (purse === 'backed') apiKey.ofPruned.backedMicros -= amountMicros
    else apiKey.ofPruned.freeMicros -= amountMicros
  }

  #account(id: string): AccountTally {
    const known = this.#accounts.get(id)
    if (known !== undefined) return known
    const tally: AccountTally = {
      entries: 0,
      latestNumber: 0,
      backedBalanceMicros: 0,
      freeBalanceMicros: 0,
      lastCreditNumber: 0,
      lastCreditBalanceMicros: 0,
      backedHeldMicros: 0,
      freeHeldMicros: 0,
      hasBackedCredit: false,
      freeExpiresAtMs: null,
      openHolds: 0,
    }
    this.#accounts.set(id, tally)
    return tally
  }

  #apiKey(id: string): ApiKeyTally {
    const known = this.#apiKeys.get(id)
    if (known !== undefined) return known
    const ofPruned = { backedMicros: 0, freeMicros: 0, writtenOffMicros: 0 }
    const tally: ApiKeyTally = { spendMicros: 0, heldMicros: 0, openHolds: 0, ofPruned }
    this.#apiKeys.set(id, tally)
    return tally
  }
}

/** The charges of a key's pruned requests. */
export function chargesOf(row: PrunedRequestsRow): PrunedCharges {
  return {
    chargeMicros: row.backedChargeMicros + row.freeChargeMicros,
    latestSettledAtMs: row.latestSettledAtMs,
  }
}

/**
 * Recomputes a request's charge from its entries and from its cost, and its hold from its state. `keepsCost`: whether
 * the program that opened it writes costs with charges.
 */
export function auditRequest(
  row: RequestRow,
  { entries, keepsCost }: { readonly entries: readonly Entry[]; readonly keepsCost: boolean },
): readonly Difference[] {
  const differences: Difference[] = []
  const expect = (what: string, figure: Omit<Difference, 'what' | 'id'>): void => {
    if (figure.stored !== figure.recomputed) {
      differences.push({ what: `requests.${what}`, id: row.id, ...figure })
    }
  }
  let backedMicros = 0
  let freeMicros = 0
  let writtenOffMicros = 0
  for (const entry of entries) {
    if (entry.kind === 'write_off') writtenOffMicros += entry.amountMicros
    else if (entry.purse === 'backed') backedMicros -= entry.amountMicros
    else freeMicros -= entry.amountMicros
    expect('account_id', { stored: row.accountId, recomputed: entry.accountId })
    expect('api_key_id', { stored: row.apiKeyId, recomputed: entry.apiKeyId })
  }
  expect('backed_charge_micros', { stored: row.backedChargeMicros, recomputed: backedMicros })
  expect('free_charge_micros', { stored: row.freeChargeMicros, recomputed: freeMicros })
  expect('written_off_micros', { stored: row.writtenOffMicros, recomputed: writtenOffMicros })

  const charge = row.backedChargeMicros + row.freeChargeMicros
  expect('charge', { stored: charge, recomputed: chargeOf(row, charge) })
  if (keepsCost || row.cost !== null) {
    const cost = costBehind({ ...row, chargeMicros: micros(charge) })
    expect('cost_micros', {
      stored: row.cost?.costMicros ?? null,
      recomputed: cost?.costMicros ?? null,
    })
    expect('cost_rest_pico', {
      stored: row.cost?.costRestPico ?? null,
      recomputed: cost?.costRestPico ?? null,
    })
  }
  if (row.costStands) {
    const canStand = row.costUsd !== null && (row.state === 'provisional' || row.state === 'final')
    expect('cost_stands', { stored: 1, recomputed: canStand ? 1 : 0 })
  }
  const [backedHeld, freeHeld] = heldOf(row)
  expect('backed_held_micros', { stored: row.backedHeldMicros, recomputed: backedHeld })
  expect('free_held_micros', { stored: row.freeHeldMicros, recomputed: freeHeld })
  return differences
}

/** The right charge; an estimate that was settled unchanged is right by definition. */
function chargeOf(row: RequestRow, chargeMicros: number): number | null {
  switch (row.state) {
    case 'open':
    case 'unresolved':
    case 'released':
      return 0
    case 'provisional':
    case 'final': {
      if (row.costUsd === null) return chargeMicros
      const cost = parseDecimal(row.costUsd)
      return cost === null ? null : chargeForCost(cost, row.feeBasisPoints)
    }
  }
}

function heldOf(row: RequestRow): readonly [backedMicros: number, freeMicros: number] {
  switch (row.state) {
    case 'open':
    case 'unresolved':
      return [row.backedGrantedMicros, row.freeGrantedMicros]
    case 'provisional':
      if (row.costUsd !== null) return [0, 0]
      return [
        Math.max(0, row.backedGrantedMicros - row.backedChargeMicros),
        Math.max(0, row.freeGrantedMicros - row.freeChargeMicros),
      ]
    case 'final':
    case 'released':
      return [0, 0]
  }
}
