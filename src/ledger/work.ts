import { MEMBERS, OPERATOR_ACTIONS } from '../store/people-tables.ts'
import { PURCHASES, RECEIPT_NUMBERS } from '../store/sale-tables.ts'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  ENTRIES,
  type Entry,
  type RequestRow,
} from '../store/schema.ts'
import { LATE_COSTS } from '../store/usage-tables.ts'
import type { Count } from './counts.ts'
import type { RedeemCodeInput, UpdateAccountInput } from './ledger.ts'
import { type Change, idOf, type Noted, RequestRows, Rows } from './rows.ts'

/**
 * The rows that a batch works on, in memory. A store loads them, the rules replace them, the store
 * saves those that were replaced. Rows are never changed in place. A new kind of row is a line here, its line in
 * `changes`, and where it is found by other than an account, a line of {@link FOUND}.
 */
export class UnitOfWork {
  readonly #noted: Noted = { writes: 0, changesCallers: false }
  readonly accounts = new Rows(ACCOUNTS, this.#noted, { nameOf: idOf, isAnother: isAnotherCaller })
  readonly apiKeys = new Rows(API_KEYS, this.#noted, { nameOf: idOf, isAnother: isAnotherKey })
  readonly creditCodes = new Rows(CREDIT_CODES, this.#noted, { nameOf: (row) => row.codeHash })
  readonly requests = new RequestRows(this.#noted)
  readonly purchases = new Rows(PURCHASES, this.#noted, { nameOf: (row) => row.source })
  /** The last number of the receipts, for purchases that are paid. */
  readonly receiptNumbers = new Rows(RECEIPT_NUMBERS, this.#noted, { nameOf: idOf })
  /** Entries that are loaded are those of credit that was added under a reference. */
  readonly entries = new Rows(ENTRIES, this.#noted, { nameOf: entryName })
  /** Members of accounts that are made in the same batch. */
  readonly members = new Rows(MEMBERS, this.#noted, {
    nameOf: ({ accountId, userId }) => `${accountId} ${userId}`,
  })
  /** The provider's costs of released requests, by their IDs. */
  readonly lateCosts = new Rows(LATE_COSTS, this.#noted, { nameOf: idOf })
  /** The rows of the audit log. */
  readonly operatorActions = new Rows(OPERATOR_ACTIONS, this.#noted, { nameOf: idOf })
  readonly #counted = new Map<string, Map<string, unknown>>()

  /** Loads a figure for the command that is applied next. By position: what was counted, and the figure. */
  loadCounted<Counted>(
    { count, id }: { readonly count: Count<Counted>; readonly id: string },
    counted: Counted,
  ): void {
    const figures = this.#counted.get(count.of) ?? new Map<string, unknown>()
    this.#counted.set(count.of, figures.set(id, counted))
  }

  /** The figure of an owner; undefined: it was not counted. */
  counted<Counted>({ of }: Count<Counted>, ownerId: string): Counted | undefined {
    // Figures of one group are of one type.
    return this.#counted.get(of)?.get(ownerId) as Counted | undefined
  }

  /** The account that another system knows by this id; null and undefined: none. */
  accountOfExternalId(externalId: string | null | undefined): AccountRow | undefined {
    if (externalId == null) return undefined
    return this.accounts.find((row) => row.externalId === externalId)
  }

  /** The entry of the credit that an account was given under a reference. */
  creditEntry(place: CreditPlace): Entry | undefined {
    return this.entries.get(creditName(place))
  }

  /** How often a row was added or replaced so far. */
  get writes(): number {
    return this.#noted.writes
  }

  /** The rows that the store saves, in an order in which each row precedes the rows that refer to it. */
  changes(): RowChanges {
    return {
      rows: {
        accounts: this.accounts.changes(),
        apiKeys: this.apiKeys.changes(),
        creditCodes: this.creditCodes.changes(),
        ...this.requests.split(),
        purchases: this.purchases.changes(),
        receiptNumbers: this.receiptNumbers.changes(),
        entries: this.entries.changes(),
        members: this.members.changes(),
        lateCosts: this.lateCosts.changes(),
        operatorActions: this.operatorActions.changes(),
      },
      changesCallers: this.#noted.changesCallers,
    }
  }

  /** Call it when the changes so far are saved: `changes` then has only later ones. */
  saved(): void {
    for (const rows of Object.values(this)) if (rows instanceof Rows) rows.saved()
    this.#noted.changesCallers = false
  }
}

/** Rows that are looked for by columns of their own, because no account names them. */
export const FOUND = {
  creditCodes: { table: CREDIT_CODES, by: ['code_hash', 'id'] },
  purchases: { table: PURCHASES, by: ['source', 'id', 'receipt_number'] },
  receiptNumbers: { table: RECEIPT_NUMBERS, by: ['id'] },
} as const

/** The kinds of rows that {@link FOUND} has. */
export type FoundRows = keyof typeof FOUND

/** A row that a command is about, by the value of a column. */
type Look = {
  readonly [Of in FoundRows]: {
    readonly of: Of
    readonly by: (typeof FOUND)[Of]['by'][number]
    readonly value: string
  }
}[FoundRows]

/** The changes that a batch made. */
export interface RowChanges {
  readonly rows: {
    readonly [Kind in KindOfRow]: Change<UnitOfWork[Kind] extends Rows<infer Row> ? Row : never>
  } & { readonly holds: Change<RequestRow> }
  /** Whether processes may have cached an account or a key that has changed: `callers_version` must be raised. */
  readonly changesCallers: boolean
}

type KindOfRow = {
  [Kind in keyof UnitOfWork]: UnitOfWork[Kind] extends Rows<infer _> ? Kind : never
}[keyof UnitOfWork]

/** Entries without a reference have a name that no reference makes. */
function entryName({ accountId, reference, number }: Entry): string {
  return reference === null ? `${accountId}#${number}` : creditName({ accountId, reference })
}

/** Whether requests of an account must be answered differently before their hold. New accounts are cached nowhere. */
function isAnotherCaller(before: AccountRow | undefined, after: AccountRow): boolean {
  if (before === undefined) return false
  return (
    before.disabled !== after.disabled ||
    before.hasBackedCredit !== after.hasBackedCredit ||
    before.feeBasisPoints !== after.feeBasisPoints ||
    mayUseOthers(before, after) ||
    hasOtherLimits(before, after)
  )
}

/** Whether the limits have changed that each process keeps before a body is read. */
function hasOtherLimits(before: AccountRow | ApiKeyRow, after: AccountRow | ApiKeyRow): boolean {
  return (
    before.requestsPerMinuteMax !== after.requestsPerMinuteMax ||
    before.inFlightMax !== after.inFlightMax
  )
}

/** Whether the facts about an API key have changed that each process keeps before a body is read. */
function isAnotherKey(before: ApiKeyRow | undefined, after: ApiKeyRow): boolean {
  if (before === undefined) return false
  return (
    before.disabled !== after.disabled ||
    before.deletedAtMs !== after.deletedAtMs ||
    before.expiresAtMs !== after.expiresAtMs ||
    before.keyHash !== after.keyHash ||
    mayUseOthers(before, after) ||
    hasOtherLimits(before, after)
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

/** The identity of added credit: its reference, which is unique in an account. */
export interface CreditPlace {
  readonly accountId: string
  /** The caller's own id of the credit. */
  readonly reference: string
}

function creditName({ accountId, reference }: CreditPlace): string {
  return `${accountId} ${reference}`
}

/** The account and the key of a request. */
export interface RequestOwner {
  readonly accountId: string
  readonly apiKeyId: string
}

/** The rows that a batch of commands needs: engines load them before the commands are applied. */
export interface NamedRows {
  readonly accountIds: Set<string>
  /** External IDs of accounts to look up. These accounts are only read. */
  readonly externalIds: Set<string>
  readonly apiKeyIds: Set<string>
  /** Requests that are there, if they were ever opened. */
  readonly requestIds: Set<string>
  /** Requests of `requestIds` whose holds are open, unless they were abandoned. */
  readonly openIds: Set<string>
  /** Requests of `requestIds` whose holds end now. */
  readonly endedIds: Set<string>
  /** The requests whose account and key are not named, and must be looked up. */
  readonly unownedIds: Set<string>
  /** Requests that are about to be made: there only where a command is repeated. */
  readonly openedIds: Set<string>
  /** All requests of these instances that are open. */
  readonly instanceIds: Set<string>
  /** The entries of credit that was added before. */
  readonly credits: CreditPlace[]
  /** The entries of the credit of these codes. */
  readonly codes: RedeemCodeInput[]
  readonly looks: Look[]
}

/** No rows, to which commands add theirs. */
export function noRows(): NamedRows {
  return {
    accountIds: new Set(),
    externalIds: new Set(),
    apiKeyIds: new Set(),
    requestIds: new Set(),
    openIds: new Set(),
    endedIds: new Set(),
    unownedIds: new Set(),
    openedIds: new Set(),
    instanceIds: new Set(),
    credits: [],
    codes: [],
    looks: [],
  }
}

/** The values that named rows of a kind are looked for by in one column. */
export function lookedForBy({ looks }: NamedRows, of: FoundRows, by: Look['by']): string[] {
  return looks.flatMap((look) => (look.of === of && look.by === by ? [look.value] : []))
}

/** Names a request. An unknown owner is looked up by the store. By position: the rows, the request and its owner. */
export function nameRequest(
  named: NamedRows,
  requestId: string,
  owner: RequestOwner | undefined,
): void {
  named.requestIds.add(requestId)
  if (owner === undefined) {
    named.unownedIds.add(requestId)
    return
  }
  named.accountIds.add(owner.accountId)
  named.apiKeyIds.add(owner.apiKeyId)
}

/** Names a request whose hold is open. Parameters as of {@link nameRequest}. */
export function nameOpenRequest(
  named: NamedRows,
  requestId: string,
  owner: RequestOwner | undefined,
): void {
  nameRequest(named, requestId, owner)
  named.openIds.add(requestId)
}

/** Names an account, and another account that may have its external ID. */
export function nameAccount(named: NamedRows, { id, externalId }: UpdateAccountInput): void {
  named.accountIds.add(id)
  if (externalId != null) named.externalIds.add(externalId)
}
