import { HOLDS, openRequest, REQUESTS, type RequestRow } from '../store/schema.ts'
import type { NamedColumn, StoredRow, StoredValue } from '../store/table.ts'

/** A table as statements use it. Its rows are of the table's own type. */
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
export interface Noted {
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

  /** By position: the table; the batch's notes; how rows are named, and which changes make cached callers stale. */
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

  /** The first loaded row that passes the test. */
  find(passes: (row: Row) => boolean): Row | undefined {
    return this.#rows.values().find(passes)
  }

  /** The loaded rows that pass the test. */
  filter(passes: (row: Row) => boolean): Row[] {
    return [...this.#rows.values().filter(passes)]
  }

  /** Adds a row that the store does not have. It never replaces a row, which could belong to another account. */
  insert(row: Row): void {
    this.#put(row, 'inserted')
  }

  /** Adds a row, or replaces the whole row. */
  write(row: Row): Row {
    this.#put(row, 'written')
    return row
  }

  /** Replaces those columns of a row that change. */
  update(row: Row): void {
    this.#put(row, 'updated')
  }

  changes(): Change<Row> {
    const table = this.#table
    // Most batches leave most tables unchanged.
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

/** Requests: the open ones are rows of `holds`, the others of `requests`. */
export class RequestRows extends Rows<RequestRow> {
  /** Requests that the store has in `holds`, and requests that are already deleted there. */
  readonly #held = new Map<string, 'there' | 'taken'>()

  constructor(noted: Noted) {
    super(REQUESTS, noted, { nameOf: idOf })
  }

  /** Loads a request that the store has in `holds`. */
  loadHeld(row: RequestRow): void {
    this.#held.set(row.id, 'there')
    this.load(row)
  }

  /** Loads a request from its row of `holds`. By position: the row; whether it was deleted by the read. */
  loadHold(stored: StoredRow, { isTaken }: { readonly isTaken: boolean }): void {
    const row = openRequest(HOLDS.read(stored))
    this.#held.set(row.id, isTaken ? 'taken' : 'there')
    this.load(row)
  }

  /** The changes of `holds` and the changes of `requests`. */
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
    // Holds that were deleted when they were read, and are still open at the end of the batch.
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

/** The changed rows of one table after a batch, each once, in the order of their first change. */
export interface Change<Row extends object = object> {
  readonly table: StatedTable
  /** Rows to insert. */
  readonly inserted: readonly Row[]
  /** Rows to insert, or to update in all columns if they exist. */
  readonly written: readonly Row[]
  /** Rows to update, in the columns that change. */
  readonly updated: readonly Row[]
  /** Rows to delete, by the key. */
  readonly deleted: readonly Row[]
}

/** The name of a row that has an ID. */
export function idOf({ id }: { readonly id: string }): string {
  return id
}
