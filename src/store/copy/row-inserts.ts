import { CompiledQuery, type Kysely } from 'kysely'
import type { DatabaseLocation } from '../database-url.ts'
import type { Tables } from '../tables.ts'
import type { ExportedValue } from './export-format.ts'
import type { ExportedTable } from './exported-tables.ts'

export interface RowInsertsInput {
  /** Within a transaction. */
  readonly view: Kysely<Tables>
  readonly engine: DatabaseLocation['kind']
}

const ROWS_A_STATEMENT = 200

/** Inserts rows, many in a statement, in the order they are added. */
export class RowInserts {
  readonly #input: RowInsertsInput
  #table: ExportedTable | null = null
  #rows: (readonly ExportedValue[])[] = []

  constructor(input: RowInsertsInput) {
    this.#input = input
  }

  /** Inserts the row with those that come after it. Rejects with `StoreRefused` where an earlier one can't be. */
  async add(table: ExportedTable, values: readonly ExportedValue[]): Promise<void> {
    if (this.#table !== table) await this.flush()
    this.#table = table
    this.#rows.push(values)
    if (this.#rows.length === ROWS_A_STATEMENT) await this.flush()
  }

  /** Inserts what was added. Rejects as `add`. */
  async flush(): Promise<void> {
    const rows = this.#rows
    this.#rows = []
    if (this.#table === null || rows.length === 0) return
    const { view, engine } = this.#input
    const text = insertText({ table: this.#table, rows: rows.length, engine })
    await view.executeQuery(CompiledQuery.raw(text, rows.flat()))
  }
}

interface InsertTextInput {
  readonly table: ExportedTable
  readonly rows: number
  readonly engine: DatabaseLocation['kind']
}

function insertText({ table: { name, columns }, rows, engine }: InsertTextInput): string {
  let place = 0
  const parameter = () => (engine === 'postgres' ? `$${++place}` : '?')
  const row = () => `(${columns.map(parameter).join(',')})`
  const names = columns.map((column) => `"${column.name}"`).join(',')
  return `insert into "${name}" (${names}) values ${Array.from({ length: rows }, row).join(',')}`
}
