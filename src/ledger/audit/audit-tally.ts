import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { AccountRow, ApiKeyRow, CreditCodeRow, Entry, RequestRow } from '../../store/schema.ts'
import type { PrunedRequestsRow } from '../../store/usage-tables.ts'
import { chargeForCost, costBehind, micros, parseDecimal } from '../../vocabulary/money.ts'
import { isCredit } from '../rules/credit.ts'
import { PeriodTally, type PrunedCharges } from './period-tally.ts'

/** A stored figure that differs from the rows behind it. */
export interface Difference {
  /** The figure, as `table.column`. */
  readonly what: string
  /** The row that has it. */
  readonly id: string
  readonly stored: number | string | null
  readonly recomputed: number | string | null
}

interface AccountTally {
  entries: number
  /** Of the latest entry; equal to `entries` where there is no gap. */
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

interface ActivationTally {
  amountMicros: number
  /** Null: several accounts. */
  accountId: string | null
}

interface PurchaseTally {
  credits: number
  creditMicros: number
  reversals: number
  reversedMicros: number
  /** Null: several accounts. */
  accountId: string | null
}

/** Sums of charges. */
interface Charges {
  backedMicros: number
  freeMicros: number
  writtenOffMicros: number
}

interface ApiKeyTally {
  spendMicros: number
  heldMicros: number
  openHolds: number
  /** The charges of entries less those of existing requests: the sums that pruned requests must have. */
  readonly ofPruned: Charges
}

/** Adds up the rows behind the figures of accounts and keys. Knows no rule, only sums. */
export class AuditTally {
  readonly #accounts = new Map<string, AccountTally>()
  readonly #apiKeys = new Map<string, ApiKeyTally>()
  /** By the id of their code. */
  readonly #activations = new Map<string, ActivationTally>()

  readonly #purchases = new Map<string, PurchaseTally>()
  readonly #periods = new PeriodTally()

  /** To be called with every account and key that has an allowance, before the requests. */
  watchPeriod(row: Pick<AccountRow | ApiKeyRow, 'id' | 'period'>): void {
    this.#periods.watch(row)
  }

  addEntry(entry: Entry): void {
    const account = this.#account(entry.accountId)
    account.entries += 1
    account.latestNumber = entry.number
    if (entry.purse === 'backed') account.backedBalanceMicros += entry.amountMicros
    else account.freeBalanceMicros += entry.amountMicros
    if (BOUGHT.has(entry.kind)) account.hasBackedCredit = true
    if (isCredit(entry)) {
      account.lastCreditNumber = entry.number
      account.lastCreditBalanceMicros = account.backedBalanceMicros + account.freeBalanceMicros
    }
    if (entry.kind === 'activation') this.#addActivation(entry)
    if (entry.kind === 'purchase' || entry.kind === 'reversal') this.#addToPurchase(entry)
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
      // Free credit is never below zero, nor promised twice.
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

  /** Compares a code with the credit that was posted for it, and removes it from the tally. */
  auditCreditCode(row: CreditCodeRow): readonly Difference[] {
    const tally = this.#activations.get(row.id)
    this.#activations.delete(row.id)
    const redeemedMicros = row.redeemedBy === null ? 0 : row.amountMicros
    return differencesOf({ table: 'credit_codes', rowId: row.id }, [
      ['amount_micros', redeemedMicros, tally?.amountMicros ?? 0],
      ['redeemed_by', row.redeemedBy, tally?.accountId ?? null],
    ])
  }

  /** Compares a purchase with the entries that were posted for it, and removes it from the tally. */
  auditPurchase(row: PurchaseRow): readonly Difference[] {
    const tally = this.#purchases.get(row.id)
    this.#purchases.delete(row.id)
    const isCredited = row.state === 'credited'
    return differencesOf({ table: 'purchases', rowId: row.id }, [
      ['state', isCredited ? 1 : 0, tally?.credits ?? 0],
      ['credit_micros', isCredited ? row.creditMicros : 0, tally?.creditMicros ?? 0],
      ['reversals', row.reversals, tally?.reversals ?? 0],
      ['reversed_micros', row.reversedMicros, tally?.reversedMicros ?? 0],
      ['account_id', row.accountId, tally === undefined ? row.accountId : tally.accountId],
    ])
  }

  /** The sums of accounts, keys, codes and purchases that do not exist. */
  orphans(): readonly Difference[] {
    const orphan = (what: string) => (id: string) => ({ what, id, stored: null, recomputed: id })
    return [
      ...[...this.#accounts.keys()].map(orphan('accounts.id')),
      ...[...this.#apiKeys.keys()].map(orphan('api_keys.id')),
      ...[...this.#activations.keys()].map(orphan('credit_codes.id')),
      ...[...this.#purchases.keys()].map(orphan('purchases.id')),
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

  #addActivation({ reference, accountId, amountMicros }: Entry): void {
    const earlier = this.#activations.get(reference ?? '')
    this.#activations.set(reference ?? '', {
      amountMicros: amountMicros + (earlier?.amountMicros ?? 0),
      accountId: earlier === undefined || earlier.accountId === accountId ? accountId : null,
    })
  }

  #addToPurchase({ kind, reference, accountId, amountMicros }: Entry): void {
    const [purchaseId = ''] = (reference ?? '').split(':')
    const tally: PurchaseTally = this.#purchases.get(purchaseId) ?? {
      credits: 0,
      creditMicros: 0,
      reversals: 0,
      reversedMicros: 0,
      accountId,
    }
    if (kind === 'purchase') {
      tally.credits += 1
      tally.creditMicros += amountMicros
    } else {
      tally.reversals += 1
      tally.reversedMicros -= amountMicros
    }
    if (tally.accountId !== accountId) tally.accountId = null
    this.#purchases.set(purchaseId, tally)
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

const BOUGHT: ReadonlySet<Entry['kind']> = new Set(['top_up', 'activation', 'purchase'])

type Figure = readonly [
  what: string,
  stored: number | string | null,
  recomputed: number | string | null,
]

function differencesOf(
  { table, rowId }: { readonly table: string; readonly rowId: string },
  figures: readonly Figure[],
): Difference[] {
  return figures
    .filter(([, stored, recomputed]) => stored !== recomputed)
    .map(([what, stored, recomputed]) => {
      return { what: `${table}.${what}`, id: rowId, stored, recomputed }
    })
}

/**
 * Recomputes a request's charge from its entries and from its cost, and its hold from its state. `keepsCost`: whether
 * the program that opened it writes costs beside charges.
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
    const mayStand = row.costUsd !== null && (row.state === 'provisional' || row.state === 'final')
    expect('cost_stands', { stored: 1, recomputed: mayStand ? 1 : 0 })
  }
  const [backedHeld, freeHeld] = heldOf(row)
  expect('backed_held_micros', { stored: row.backedHeldMicros, recomputed: backedHeld })
  expect('free_held_micros', { stored: row.freeHeldMicros, recomputed: freeHeld })
  return differences
}

/** The right charge; an estimate that was settled as it stands is right by definition. */
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
