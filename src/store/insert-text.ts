import type { DatabaseLocation } from './database-url.ts'
import type { NamedColumn } from './table.ts'

interface InsertTextInput {
  readonly table: { readonly name: string; readonly columns: readonly NamedColumn[] }
  readonly rows: number
  readonly kind: DatabaseLocation['kind']
}

/** A statement that inserts so many rows, whose parameters are the values of the rows in the order of the columns. */
export function insertText({ table: { name, columns }, rows, kind }: InsertTextInput): string {
  let place = 0
  const parameter = () => (kind === 'postgres' ? `$${++place}` : '?')
  const row = () => `(${columns.map(parameter).join(',')})`
  const names = columns.map((column) => `"${column.name}"`).join(',')
  return `insert into "${name}" (${names}) values ${Array.from({ length: rows }, row).join(',')}`
}
