import { CompiledQuery, type Kysely } from 'kysely'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { DatabaseLocation } from '../database-url.ts'
import type { Tables } from '../tables.ts'
import type { ExportedColumn, ExportedTable } from './exported-tables.ts'

export interface ReadRowsInput {
  /** Within a transaction. */
  readonly view: Kysely<Tables>
  readonly engine: DatabaseLocation['kind']
  readonly table: ExportedTable
}

type Row = Readonly<Record<string, unknown>>

const PAGE_ROWS = 1_000

/**
 * All rows of a table by pages, in the order of its key as bytes, whatever order of text the database
 * has. Values are in the order of the columns: text or null, integers as decimal text, so that each is
 * exact.
 */
export async function* readRows(input: ReadRowsInput): AsyncGenerator<readonly unknown[][]> {
  const { engine, table } = input
  const names = table.columns.map((_, place) => alias(place))
  for await (const rows of pagesOf(engine, input)) {
    yield rows.map((row) => names.map((name) => row[name]))
  }
}

function pagesOf(
  engine: DatabaseLocation['kind'],
  input: ReadRowsInput,
): AsyncGenerator<readonly Row[]> {
  switch (engine) {
    case 'sqlite':
      return pagesByKey(input)
    case 'postgres':
      return pagesByCursor(input)
    default:
      return assertNever(engine)
  }
}

/** SQLite: text is in the order of its bytes, and so is the index of the key. */
async function* pagesByKey({ view, table }: ReadRowsInput): AsyncGenerator<readonly Row[]> {
  const order = table.key.map(({ name }) => `"${table.name}"."${name}"`).join(', ')
  const behind = `where (${order}) > (${table.key.map(() => '?').join(', ')})`
  const select = (where: string) =>
    `select ${selected(table)} from "${table.name}" ${where} order by ${order} limit ${PAGE_ROWS}`
  let after: (string | bigint)[] = []
  for (;;) {
    const page = after.length === 0 ? select('') : select(behind)
    const { rows } = await view.executeQuery<Row>(CompiledQuery.raw(page, after))
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = table.key.map((column) => keyValue(column, last[alias(table.columns.indexOf(column))]))
  }
}

function keyValue({ kind }: ExportedColumn, value: unknown): string | bigint {
  return kind === 'integer' ? BigInt(String(value)) : String(value)
}

/** PostgreSQL: its index of the key may be in the order of a language, so that it sorts, once. */
async function* pagesByCursor({ view, table }: ReadRowsInput): AsyncGenerator<readonly Row[]> {
  const run = (text: string) => view.executeQuery<Row>(CompiledQuery.raw(text))
  const order = table.key
    .map(({ name, kind }) => `"${table.name}"."${name}"${kind === 'text' ? ' collate "C"' : ''}`)
    .join(', ')
  await run(
    `declare exported no scroll cursor for
     select ${selected(table)} from "${table.name}" order by ${order}`,
  )
  for (;;) {
    const { rows } = await run(`fetch ${PAGE_ROWS} from exported`)
    if (rows.length === 0) break
    yield rows
  }
  await run('close exported')
}

/** Every column under a name that no column has: to order by a column must not mean its text. */
function selected({ columns }: ExportedTable): string {
  return columns
    .map(({ name, kind }, place) => {
      const value = kind === 'integer' ? `cast("${name}" as text)` : `"${name}"`
      return `${value} as ${alias(place)}`
    })
    .join(', ')
}

function alias(place: number): string {
  return `value_${place}`
}
