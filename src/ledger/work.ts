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
  HOLDS,
  openRequest,
  REQUESTS,
  type RequestRow,
} from '../store/schema.ts'
import type { NamedColumn, StoredRow, StoredValue } from '../store/table.ts'
import { LATE_COSTS } from '../store/usage-tables.ts'
import type { Micros } from '../vocabulary/money.ts'

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
  /** What the provider billed for released requests, by their IDs. */
  readonly lateCosts = new Rows(LATE_COSTS, this.#noted, { nameOf: idOf })
  /** The records of what operators did. */
  readonly operatorActions = new Rows(OPERATOR_ACTIONS, this.#noted, { nameOf: idOf })
  readonly #periodCounts = new Map<string, PeriodCount>()

  /** Loads what was added up for the command that is applied next, by the id of the account or key. */
  loadPeriodCount(ownerId: string, count: PeriodCount): void {
    this.#periodCounts.set(ownerId, count)
  }

  periodCount(ownerId: string): PeriodCount | undefined {
    return this.#periodCounts.get(ownerId)
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

  /** The changes so far have been saved: `changes` says only what follows them. */
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
export type Look = {
  readonly [Of in FoundRows]: {
    readonly of: Of
    readonly by: (typeof FOUND)[Of]['by'][number]
    readonly value: string
  }
}[FoundRows]

/** A table as statements see it. Each row is of the table's own kind. */
export interface StatedTable {
  readonly name: string
  readonly columns: readonly NamedColumn[]
  readonly key: readonly NamedColumn[]
  readonly moving: readonly NamedColumn[]
  values(row: object): StoredValue[]
  changedValues(row: object): StoredValue[]
  record(row: object): object
  changedRecord(row: object): object
}

/** How a row is saved. Each of these also saves everything that the ones before it save. */
const MOVES = ['updated', 'written', 'inserted'] as const

type Move = (typeof MOVES)[number]

const NO_ROWS: readonly never[] = []

/** The changes of the rows of a batch. */
interface Noted {
  writes: number
  changesCallers: boolean
}

/** The rows of one table, by their names. */
export class Rows<Row extends object> {
  readonly #table: StatedTable & { readonly read: (stored: StoredRow) => Row }
  readonly #noted: Noted
  readonly #nameOf: (row: Row) => string
  readonly #isAnother: ((before: Row | undefined, after: Row) => boolean) | undefined
  readonly #rows = new Map<string, Row>()
  readonly #moves = new Map<string, Move>()

  /** By position: the table; what the batch notes; how its rows are named, and which changes end what callers are known by. */
  constructor(
    table: StatedTable & { readonly read: (stored: StoredRow) => Row },
    noted: Noted,
    how: {
      readonly nameOf: (row: Row) => string
      readonly isAnother?: (before: Row | undefined, after: Row) => boolean
    },
  ) {
    this.#table = table
    this.#noted = noted
    this.#nameOf = how.nameOf
    this.#isAnother = how.isAnother
  }

  load(row: Row): void {
    this.#rows.set(this.#nameOf(row), row)
  }

  /** Loads a row as the store has it. */
  loadStored(stored: StoredRow): void {
    this.load(this.#table.read(stored))
  }

  get(name: string): Row | undefined {
    return this.#rows.get(name)
  }

  /** The first row that passes. */
  find(passes: (row: Row) => boolean): Row | undefined {
    return this.#rows.values().find(passes)
  }

  /** The rows that pass. */
  filter(passes: (row: Row) => boolean): Row[] {
    return [...this.#rows.values().filter(passes)]
  }

  /** Adds a row that the store does not have: never over another, which may be of another account. */
  insert(row: Row): void {
    this.#put(row, 'inserted')
  }

  /** Adds a row, or replaces the whole row. */
  write(row: Row): Row {
    this.#put(row, 'written')
    return row
  }

  /** Replaces the columns of a row that move. */
  update(row: Row): void {
    this.#put(row, 'updated')
  }

  changes(): Change<Row> {
    const table = this.#table
    // As of most kinds of rows in most batches.
    if (this.#moves.size === 0)
      return { table, updated: NO_ROWS, written: NO_ROWS, inserted: NO_ROWS, deleted: NO_ROWS }
    const changed: Record<Move, Row[]> = { updated: [], written: [], inserted: [] }
    for (const [name, move] of this.#moves) {
      const row = this.#rows.get(name)
      if (row !== undefined) changed[move].push(row)
    }
    return { table, ...changed, deleted: NO_ROWS }
  }

  saved(): void {
    this.#moves.clear()
  }

  #put(row: Row, move: Move): void {
    const name = this.#nameOf(row)
    this.#noted.writes++
    if (this.#isAnother?.(this.#rows.get(name), row) === true) this.#noted.changesCallers = true
    this.#rows.set(name, row)
    const before = this.#moves.get(name)
    if (before === undefined || MOVES.indexOf(before) < MOVES.indexOf(move)) {
      this.#moves.set(name, move)
    }
  }
}

/** Requests: those that are open are rows of `holds`, the others of `requests`. */
class RequestRows extends Rows<RequestRow> {
  /** Those that the store has in `holds`, and those that are gone from there already. */
  readonly #held = new Map<string, 'there' | 'taken'>()

  constructor(noted: Noted) {
    super(REQUESTS, noted, { nameOf: idOf })
  }

  /** Loads a request that the store has in `holds`. */
  loadHeld(row: RequestRow): void {
    this.#held.set(row.id, 'there')
    this.load(row)
  }

  /** Loads a request from its row of `holds`. By position: the row; whether it was deleted as it was read. */
  loadHold(stored: StoredRow, { isTaken }: { readonly isTaken: boolean }): void {
    const row = openRequest(HOLDS.read(stored))
    this.#held.set(row.id, isTaken ? 'taken' : 'there')
    this.load(row)
  }

  /** The changes of both tables. */
  split(): { readonly holds: Change<RequestRow>; readonly requests: Change<RequestRow> } {
    const { table, inserted, written, updated } = this.changes()
    const holds: Changed = { inserted: [], written: [], updated: [], deleted: [] }
    const requests: Changed = { inserted: [], written: [...written], updated: [], deleted: [] }
    for (const row of inserted) {
      if (row.state === 'open') holds.inserted.push(row)
      else requests.inserted.push(row)
    }
    for (const row of updated) {
      const held = this.#held.get(row.id)
      if (held === undefined) requests.updated.push(row)
      else if (row.state !== 'open') {
        if (held === 'there') holds.deleted.push(row)
        requests.inserted.push(row)
      } else if (held === 'there') holds.updated.push(row)
    }
    // What was taken to be ended and is saved before it is.
    for (const [requestId, held] of this.#held) {
      const row = held === 'taken' ? this.get(requestId) : undefined
      if (row?.state === 'open') holds.inserted.push(row)
    }
    return { holds: { table: HOLDS, ...holds }, requests: { table, ...requests } }
  }

  override saved(): void {
    const { holds } = this.split()
    for (const { id } of holds.inserted) this.#held.set(id, 'there')
    for (const { id, state } of this.changes().updated) if (state !== 'open') this.#held.delete(id)
    super.saved()
  }
}

type Changed = Record<'inserted' | 'written' | 'updated' | 'deleted', RequestRow[]>

/** Rows of one table as they are after a batch, each once, in the order in which they were changed first. */
export interface Change<Row extends object = object> {
  readonly table: StatedTable
  /** To be inserted. */
  readonly inserted: readonly Row[]
  /** To be inserted, or where they are there, updated whole. */
  readonly written: readonly Row[]
  /** To be updated, in the columns that move. */
  readonly updated: readonly Row[]
  /** To be deleted, by the key. */
  readonly deleted: readonly Row[]
}

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

function idOf({ id }: { readonly id: string }): string {
  return id
}

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
    before.keyHash !== after.keyHash ||
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

/** The sums of one owner's requests whose holds opened in a period, from their rows. */
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
