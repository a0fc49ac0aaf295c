import type { MemberRow, OperatorActionRow } from '../../store/people-tables.ts'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { AccountRow, ApiKeyRow, CreditCodeRow, Entry, RequestRow } from '../../store/schema.ts'
import type { Micros } from '../../vocabulary/money.ts'

/**
 * The rows that a batch works on, in memory. A store loads them, the rules replace them, the store
 * saves those that were replaced. Rows are never changed in place.
 */
export class UnitOfWork {
  readonly #accounts = new Map<string, AccountRow>()
  readonly #apiKeys = new Map<string, ApiKeyRow>()
  readonly #requests = new Map<string, RequestRow>()
  readonly #credits = new Map<string, Entry>()
  readonly #creditCodes = new Map<string, CreditCodeRow>()
  readonly #purchases = new Map<string, PurchaseRow>()
  readonly #changedAccounts = new Set<string>()
  readonly #changedApiKeys = new Set<string>()
  readonly #changedRequests = new Set<string>()
  readonly #openedRequests = new Set<string>()
  readonly #standingRequests = new Set<string>()
  readonly #changedCreditCodes = new Set<string>()
  readonly #writtenAccounts = new Set<string>()
  readonly #writtenApiKeys = new Set<string>()
  readonly #writtenCreditCodes = new Set<string>()
  readonly #openedPurchases = new Set<string>()
  readonly #changedPurchases = new Set<string>()
  readonly #periodCounts = new Map<string, PeriodCount>()
  #entries: Entry[] = []
  #members: MemberRow[] = []
  #operatorActions: OperatorActionRow[] = []
  #changesCallers = false
  #writes = 0

  loadAccount(row: AccountRow): void {
    this.#accounts.set(row.id, row)
  }

  loadApiKey(row: ApiKeyRow): void {
    this.#apiKeys.set(row.id, row)
  }

  loadRequest(row: RequestRow): void {
    this.#requests.set(row.id, row)
  }

  /** Loads the entry of credit that was added under a reference. */
  loadCredit(entry: Entry): void {
    const { accountId, reference } = entry
    if (reference !== null) this.#credits.set(creditName({ accountId, reference }), entry)
  }

  loadCreditCode(row: CreditCodeRow): void {
    this.#creditCodes.set(row.codeHash, row)
  }

  loadPurchase(row: PurchaseRow): void {
    this.#purchases.set(row.source, row)
  }

  /** Loads what was added up for the command that is applied next, by the id of the account or key. */
  loadPeriodCount(ownerId: string, count: PeriodCount): void {
    this.#periodCounts.set(ownerId, count)
  }

  periodCount(ownerId: string): PeriodCount | undefined {
    return this.#periodCounts.get(ownerId)
  }

  account(id: string): AccountRow | undefined {
    return this.#accounts.get(id)
  }

  /** The account that another system knows by this id; null and undefined: none. */
  accountOfExternalId(externalId: string | null | undefined): AccountRow | undefined {
    if (externalId == null) return undefined
    return this.#accounts.values().find((row) => row.externalId === externalId)
  }

  apiKey(id: string): ApiKeyRow | undefined {
    return this.#apiKeys.get(id)
  }

  request(id: string): RequestRow | undefined {
    return this.#requests.get(id)
  }

  /** The entry of the credit that an account was given under a reference. */
  creditEntry(input: CreditPlace): Entry | undefined {
    return this.#credits.get(creditName(input))
  }

  creditCode(hash: string): CreditCodeRow | undefined {
    return this.#creditCodes.get(hash)
  }

  creditCodeOfId(id: string): CreditCodeRow | undefined {
    return this.#creditCodes.values().find((row) => row.id === id)
  }

  purchase(source: string): PurchaseRow | undefined {
    return this.#purchases.get(source)
  }

  purchaseOfId(id: string): PurchaseRow | undefined {
    return this.#purchases.values().find((row) => row.id === id)
  }

  /** The ids of the open requests of an instance, as far as they are loaded. */
  openRequestIds(instanceId: string): string[] {
    const ids: string[] = []
    for (const row of this.#requests.values()) {
      if (row.state === 'open' && row.instanceId === instanceId) ids.push(row.id)
    }
    return ids
  }

  putAccount(row: AccountRow): void {
    this.#writes++
    this.#changesCallers ||= isAnotherCaller(this.#accounts.get(row.id), row)
    this.#accounts.set(row.id, row)
    this.#changedAccounts.add(row.id)
  }

  putApiKey(row: ApiKeyRow): void {
    this.#writes++
    this.#apiKeys.set(row.id, row)
    this.#changedApiKeys.add(row.id)
  }

  /** Adds a request that the store does not have. */
  openRequest(row: RequestRow): void {
    this.#writes++
    this.#requests.set(row.id, row)
    this.#openedRequests.add(row.id)
  }

  putRequest(row: RequestRow): void {
    this.#writes++
    this.#requests.set(row.id, row)
    this.#standingRequests.delete(row.id)
    if (!this.#openedRequests.has(row.id)) this.#changedRequests.add(row.id)
  }

  /** Replaces a request of which no more than `state`, `costStands` and `settledAtMs` have changed. */
  putStanding(row: RequestRow): void {
    this.#writes++
    this.#requests.set(row.id, row)
    const isSavedWhole = this.#openedRequests.has(row.id) || this.#changedRequests.has(row.id)
    if (!isSavedWhole) this.#standingRequests.add(row.id)
  }

  putCreditCode(row: CreditCodeRow): void {
    this.#writes++
    this.#creditCodes.set(row.codeHash, row)
    this.#changedCreditCodes.add(row.codeHash)
  }

  /** Adds or replaces an account. */
  writeAccount(row: AccountRow): AccountRow {
    this.#writes++
    this.#changesCallers ||= isAnotherCaller(this.#accounts.get(row.id), row)
    this.#accounts.set(row.id, row)
    this.#writtenAccounts.add(row.id)
    return row
  }

  /** Adds or replaces a key. */
  writeApiKey(row: ApiKeyRow): ApiKeyRow {
    this.#writes++
    this.#changesCallers ||= isAnotherKey(this.#apiKeys.get(row.id), row)
    this.#apiKeys.set(row.id, row)
    this.#writtenApiKeys.add(row.id)
    return row
  }

  /** Adds or replaces a code. */
  writeCreditCode(row: CreditCodeRow): CreditCodeRow {
    this.#writes++
    this.#creditCodes.set(row.codeHash, row)
    this.#writtenCreditCodes.add(row.codeHash)
    return row
  }

  /** Adds a purchase that the store does not have. */
  openPurchase(row: PurchaseRow): void {
    this.#writes++
    this.#purchases.set(row.source, row)
    this.#openedPurchases.add(row.source)
  }

  putPurchase(row: PurchaseRow): void {
    this.#writes++
    this.#purchases.set(row.source, row)
    if (!this.#openedPurchases.has(row.source)) this.#changedPurchases.add(row.source)
  }

  addEntry(entry: Entry): void {
    this.#writes++
    this.#entries.push(entry)
    this.loadCredit(entry)
  }

  /** Adds a member of an account that is made in the same batch. */
  addMember(row: MemberRow): void {
    this.#writes++
    this.#members.push(row)
  }

  /** Adds the record of something that an operator did. */
  addOperatorAction(row: OperatorActionRow): void {
    this.#operatorActions.push(row)
  }

  /** How often a row was added or replaced so far. */
  get writes(): number {
    return this.#writes
  }

  /** What the store saves. */
  changes(): RowChanges {
    return {
      writtenAccounts: rowsOf(this.#accounts, this.#writtenAccounts),
      writtenApiKeys: rowsOf(this.#apiKeys, this.#writtenApiKeys),
      writtenCreditCodes: rowsOf(this.#creditCodes, this.#writtenCreditCodes),
      accounts: rowsOf(this.#accounts, this.#changedAccounts),
      apiKeys: rowsOf(this.#apiKeys, this.#changedApiKeys),
      openedRequests: rowsOf(this.#requests, this.#openedRequests),
      requests: rowsOf(this.#requests, this.#changedRequests),
      standing: rowsOf(this.#requests, this.#standingRequests),
      openedPurchases: rowsOf(this.#purchases, this.#openedPurchases),
      purchases: rowsOf(this.#purchases, this.#changedPurchases),
      entries: this.#entries,
      creditCodes: rowsOf(this.#creditCodes, this.#changedCreditCodes),
      members: this.#members,
      operatorActions: this.#operatorActions,
      changesCallers: this.#changesCallers,
    }
  }

  /** The changes so far have been saved: `changes` says only what follows them. */
  saved(): void {
    for (const ids of [
      this.#changedAccounts,
      this.#changedApiKeys,
      this.#changedRequests,
      this.#openedRequests,
      this.#standingRequests,
      this.#changedCreditCodes,
      this.#writtenAccounts,
      this.#writtenApiKeys,
      this.#writtenCreditCodes,
      this.#openedPurchases,
      this.#changedPurchases,
    ]) {
      ids.clear()
    }
    // Those of the changes must stay as they are.
    this.#entries = []
    this.#members = []
    this.#operatorActions = []
    this.#changesCallers = false
  }
}

/** Rows as they are after a batch, each at most once. */
export interface RowChanges {
  /** To be inserted, or where they are there, updated whole: before all others, which may refer to them. */
  readonly writtenAccounts: readonly AccountRow[]
  readonly writtenApiKeys: readonly ApiKeyRow[]
  readonly writtenCreditCodes: readonly CreditCodeRow[]
  /** To be updated, of these three the columns that move. */
  readonly accounts: readonly AccountRow[]
  readonly apiKeys: readonly ApiKeyRow[]
  /** To be inserted. */
  readonly openedRequests: readonly RequestRow[]
  /** To be updated. */
  readonly requests: readonly RequestRow[]
  /** To be updated, no more than `state`, `costStands` and `settledAtMs`. */
  readonly standing: readonly RequestRow[]
  /** To be inserted: never over another, which may be of another account. */
  readonly openedPurchases: readonly PurchaseRow[]
  /** To be updated. */
  readonly purchases: readonly PurchaseRow[]
  /** To be inserted, in this order. */
  readonly entries: readonly Entry[]
  /** To be updated. */
  readonly creditCodes: readonly CreditCodeRow[]
  /** To be inserted. */
  readonly members: readonly MemberRow[]
  readonly operatorActions: readonly OperatorActionRow[]
  /** Whether processes may have cached an account or a key as it was: `callers_version` is to be raised. */
  readonly changesCallers: boolean
}

/** Whether requests of an account are to be answered otherwise before their hold. New accounts are cached nowhere. */
function isAnotherCaller(before: AccountRow | undefined, after: AccountRow): boolean {
  if (before === undefined) return false
  return (
    before.disabled !== after.disabled ||
    before.hasBackedCredit !== after.hasBackedCredit ||
    before.feeBasisPoints !== after.feeBasisPoints ||
    mayUseOthers(before, after) ||
    isLimitedOtherwise(before, after)
  )
}

/** Whether the limits have changed that each process keeps before a body is read. */
function isLimitedOtherwise(
  before: AccountRow | ApiKeyRow,
  after: AccountRow | ApiKeyRow,
): boolean {
  return (
    before.requestsPerMinuteMax !== after.requestsPerMinuteMax ||
    before.inFlightMax !== after.inFlightMax
  )
}

/** The same of a key. */
function isAnotherKey(before: ApiKeyRow | undefined, after: ApiKeyRow): boolean {
  if (before === undefined) return false
  return (
    before.disabled !== after.disabled ||
    before.deletedAtMs !== after.deletedAtMs ||
    before.expiresAtMs !== after.expiresAtMs ||
    mayUseOthers(before, after) ||
    isLimitedOtherwise(before, after)
  )
}

type ModelLists = Pick<ApiKeyRow, 'modelsAllow' | 'modelsDeny'>

function mayUseOthers(before: ModelLists, after: ModelLists): boolean {
  return (
    isAnotherList(before.modelsAllow, after.modelsAllow) ||
    isAnotherList(before.modelsDeny, after.modelsDeny)
  )
}

// Every hold compares them: a list that nothing has changed is the same array.
function isAnotherList(
  before: ModelLists['modelsAllow'],
  after: ModelLists['modelsAllow'],
): boolean {
  return before !== after && String(before) !== String(after)
}

/** What a store saves of a row of {@link RowChanges.standing}, by column. */
export function standingRecord({ id, state, costStands, settledAtMs }: RequestRow) {
  return { id, state, cost_stands: costStands ? 1 : 0, settled_at_ms: settledAtMs }
}

function rowsOf<Row>(rows: ReadonlyMap<string, Row>, names: ReadonlySet<string>): Row[] {
  const found: Row[] = []
  for (const name of names) {
    const row = rows.get(name)
    if (row !== undefined) found.push(row)
  }
  return found
}

/** What requests of one owner come to whose holds opened in a period, added up from their rows. */
export interface PeriodCount {
  readonly spendMicros: Micros
  readonly heldMicros: Micros
  /** When the latest hold opened since the period began, also behind its end; null: none has. */
  readonly latestOpenedAtMs: number | null
}

/** The unique name of added credit. */
export interface CreditPlace {
  readonly accountId: string
  /** The caller's own id of the credit. */
  readonly reference: string
}

function creditName({ accountId, reference }: CreditPlace): string {
  return `${accountId} ${reference}`
}
