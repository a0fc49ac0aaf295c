import { type Micros, micros } from '../vocabulary/money.ts'
import { parseWindow, type RequestWindow, windowText } from '../vocabulary/request-window.ts'
import type { DatabaseLocation } from './database-url.ts'

/** A value as every engine takes it: times and money are integers, yes and no 1 and 0. */
export type StoredValue = string | number | null

/** A row as a database driver gives it. */
export type StoredRow = Readonly<Record<string, unknown>>

/** The type of a column, and how the field of a row is read from it and written to it. */
interface Column<Field = unknown, Value extends StoredValue = StoredValue> {
  /** Integers have 64 bits in the database; those that the gateway writes are safe integers. */
  readonly type: 'text' | 'integer'
  readonly isNullable: boolean
  /** Throws TypeError for an impossible value; `name` is the column's. */
  read(value: unknown, name: string): Field
  write(field: Field): Value
}

/** Columns of a table that are null together; the first one decides. */
interface Together<Group extends ColumnGroup = ColumnGroup> {
  readonly together: Group
}

/** Columns by their names in the database. */
type ColumnGroup = Readonly<Record<string, Column>>

/** Text. */
export const text: Column<string, string> = {
  type: 'text',
  isNullable: false,
  read: (value, name) => (typeof value === 'string' ? value : impossible(name, value)),
  write: asItIs,
}

/** A safe integer: a count, or a time in milliseconds since the Unix epoch. */
export const integer: Column<number, number> = {
  type: 'integer',
  isNullable: false,
  read: (value, name) =>
    typeof value === 'number' && Number.isSafeInteger(value) ? value : impossible(name, value),
  write: asItIs,
}

/** A whole number of any size, zero or more, as decimal text: units of a token can be beyond 64 bits. */
export const wholeNumber: Column<bigint, string> = {
  type: 'text',
  isNullable: false,
  read: (value, name) =>
    typeof value === 'string' && /^\d{1,78}$/.test(value) ? BigInt(value) : impossible(name, value),
  write: String,
}

/** Micro-dollars. */
export const amount: Column<Micros, number> = {
  ...integer,
  read: (value, name) => micros(integer.read(value, name)),
}

/** Admitted requests by second. */
export const requestWindow: Column<RequestWindow, string> = {
  type: 'text',
  isNullable: false,
  read: (value, name) => parseWindow(text.read(value, name)),
  write: windowText,
}

/** Yes or no, stored as 1 or 0. */
export const flag: Column<boolean, number> = {
  type: 'integer',
  isNullable: false,
  read: (value, name) => integer.read(value, name) === 1,
  write: (field) => (field ? 1 : 0),
}

/** Texts in order, as a JSON array, which both engines can take apart in a query. */
export const texts: Column<readonly string[], string> = {
  type: 'text',
  isNullable: false,
  read(value, name) {
    const list: unknown = JSON.parse(text.read(value, name))
    return isTexts(list) ? list : impossible(name, value)
  },
  write: (field) => JSON.stringify(field),
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** Text that is one of a closed union. */
export function oneOf<Member extends string>(members: readonly Member[]): Column<Member, string> {
  return {
    type: 'text',
    isNullable: false,
    read: (value, name) => members.find((member) => member === value) ?? impossible(name, value),
    write: asItIs,
  }
}

/** A column that may be null, as it is in a new row that does not name it. */
export function orNull<Field, Value extends StoredValue>(
  column: Column<Field, Value>,
): Column<Field | null, Value | null> & { readonly start: Field | null } {
  return {
    type: column.type,
    isNullable: true,
    read: (value, name) => (value === null ? null : column.read(value, name)),
    write: (field) => (field === null ? null : column.write(field)),
    start: null,
  }
}

/** A column with the value that it has in a new row that does not name it. */
export function startsAs<Field, Value extends StoredValue>(
  start: Field,
  column: Column<Field, Value>,
): Column<Field, Value> & { readonly start: Field } {
  return { ...column, start }
}

/** One field of a row for several columns, which are null together. */
export function together<Group extends ColumnGroup>(columns: Group): Together<Group> {
  return { together: columns }
}

function asItIs<Field>(field: Field): Field {
  return field
}

function impossible(name: string, value: unknown): never {
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
  throw new TypeError(`the store has ${shown} in the column ${name}`)
}

/** The parts of a table: columns, and groups of columns by the field that they share. */
type Columns = Readonly<Record<string, Column | Together>>

type ColumnName<Of extends Columns> = {
  [Name in keyof Of]: Of[Name] extends Together<infer Group> ? keyof Group : Name
}[keyof Of] &
  string

type Stored<Some> = Some extends Column ? ReturnType<Some['write']> : never

/** The value of a column in a group of columns. */
type StoredTogether<Of extends Columns, Name> = {
  [Field in keyof Of]: Of[Field] extends Together<infer Group>
    ? Name extends keyof Group
      ? Stored<Group[Name]> | null
      : never
    : never
}[keyof Of]

/** A row as Kysely sees it, its columns named as in the database. */
type TableColumns<Of extends Columns> = {
  [Name in ColumnName<Of>]: Name extends keyof Of ? Stored<Of[Name]> : StoredTogether<Of, Name>
}

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

type FieldOf<Some> =
  Some extends Together<infer Group>
    ? Fields<Group> | null
    : Some extends Column
      ? ReturnType<Some['read']>
      : never

type Fields<Of extends Columns> = {
  readonly [Name in keyof Of as CamelCase<Name & string>]: FieldOf<Of[Name]>
}

/** The fields that a new row need not name. */
type StartFields<Of extends Columns> = {
  readonly [Name in keyof Of as Of[Name] extends { readonly start: unknown } | Together
    ? CamelCase<Name & string>
    : never]: FieldOf<Of[Name]>
}

/** A row of a table as code sees it, its fields in camelCase. */
export type RowOf<Some extends { read(stored: StoredRow): unknown }> = ReturnType<Some['read']>

/** A table as Kysely sees it. */
export type TableOf<Some extends { record(row: never): unknown }> = ReturnType<Some['record']>

/** A column by its name. */
export interface NamedColumn extends Pick<Column, 'type' | 'isNullable'> {
  readonly name: string
}

interface TableInput<Fixed extends Columns, Moving extends Columns> {
  /** The columns of the primary key, in its order. */
  readonly key: readonly ColumnName<Fixed>[]
  /** The columns that requests and money never change. */
  readonly fixed: Fixed
  /** All others: the columns that are written when a batch of the ledger has changed a row. Default none. */
  readonly moving?: Moving
}

/**
 * A table: its columns for statements, and compiled functions that read and write its rows. Columns are in the
 * order of the schema, the fixed ones first.
 */
export class Table<
  Name extends string,
  Fixed extends Columns,
  Moving extends Columns = Record<never, never>,
> {
  readonly name: Name
  readonly columns: readonly NamedColumn[]
  /** The columns of the primary key, in its order. */
  readonly key: readonly NamedColumn[]
  readonly moving: readonly NamedColumn[]
  /** The fields that a new row need not name: null, or what their columns start as. */
  readonly start: StartFields<Fixed & Moving>
  /** Reads a row. Throws TypeError if a column has an impossible value. */
  readonly read: (stored: StoredRow) => Fields<Fixed & Moving>
  /** The columns of a row that will be inserted. */
  readonly record: (row: Fields<Fixed & Moving>) => TableColumns<Fixed & Moving>
  /** The values of `columns`. */
  readonly values: (row: Fields<Fixed & Moving>) => StoredValue[]
  /** The columns that are written of a changed row: its moving columns, and its key. */
  readonly changedRecord: (row: Fields<Fixed & Moving>) => Readonly<Record<string, StoredValue>>
  /** The values of `moving`, and of `key` behind them. */
  readonly changedValues: (row: Fields<Fixed & Moving>) => StoredValue[]

  constructor(name: Name, { key, fixed, moving }: TableInput<Fixed, Moving>) {
    const all: Columns = { ...fixed, ...moving }
    const columns = placesOf(all)
    const keyColumns = key.flatMap((part) => columns.filter((column) => column.name === part))
    const movingColumns = placesOf(moving ?? {})
    const changed = [...movingColumns, ...keyColumns]
    this.name = name
    this.columns = columns
    this.key = keyColumns
    this.moving = movingColumns
    // These have a member for each column, or each field of a row, as their types say.
    this.start = startOf(all) as StartFields<Fixed & Moving>
    this.read = compile(columns, readText(all))
    this.record = compile(columns, recordText(columns))
    this.values = compile(columns, valuesText(columns))
    this.changedRecord = compile(columns, recordText(changed))
    this.changedValues = compile(columns, valuesText(changed))
  }

  /** The first row that a query of whole rows finds; null: none. */
  async readOne(query: { executeTakeFirst(): Promise<StoredRow | undefined> }) {
    const row = await query.executeTakeFirst()
    return row === undefined ? null : this.read(row)
  }

  /** The rows that a query of whole rows finds. */
  async readAll(query: { execute(): Promise<readonly StoredRow[]> }) {
    return (await query.execute()).map((row) => this.read(row))
  }
}

interface Place extends NamedColumn, Column {
  /** JavaScript that makes the column's value of `row`. */
  readonly writeText: string
}

function placesOf(columns: Columns): Place[] {
  return Object.entries(columns).flatMap(([name, column]): Place | Place[] => {
    const field = `row.${camelCase(name)}`
    if (!('together' in column)) {
      return { ...column, name, writeText: `columns.${name}.write(${field})` }
    }
    return Object.entries(column.together).map(([member, inner]) => {
      const write = `columns.${member}.write(${field}.${camelCase(member)})`
      const writeText = `${field} === null ? null : ${write}`
      return { ...inner, name: member, isNullable: true, writeText }
    })
  })
}

function startOf(columns: Columns): object {
  const started = Object.entries(columns).flatMap(([name, column]) => {
    if ('together' in column) return [[camelCase(name), null]]
    return 'start' in column ? [[camelCase(name), column.start]] : []
  })
  return Object.fromEntries(started)
}

function readText(columns: Columns): string {
  const fields = Object.entries(columns).map(([name, column]) => {
    if (!('together' in column)) {
      return `${camelCase(name)}: columns.${name}.read(row.${name}, '${name}')`
    }
    const [first] = Object.keys(column.together)
    return `${camelCase(name)}: row.${first} === null ? null : ${readText(column.together)}`
  })
  return `{ ${fields.join(', ')} }`
}

function recordText(places: readonly Place[]): string {
  return `{ ${places.map(({ name, writeText }) => `${name}: ${writeText}`).join(', ')} }`
}

function valuesText(places: readonly Place[]): string {
  return `[${places.map(({ writeText }) => writeText).join(', ')}]`
}

/**
 * Makes a function of `row` from text that contains only names of columns. A loop over the names takes four
 * times as long, and every hold and settle reads and writes rows.
 */
function compile<Result>(places: readonly Place[], text: string): (row: object) => Result {
  const columns = Object.fromEntries(places.map((place) => [place.name, place]))
  return new Function('columns', `return (row) => (${text})`)(columns)
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** A statement that inserts rows. Its parameters are the values of each row, in the order of the columns. */
export function insertText({
  table: { name, columns },
  rows,
  kind,
}: {
  readonly table: { readonly name: string; readonly columns: readonly NamedColumn[] }
  readonly rows: number
  readonly kind: DatabaseLocation['kind']
}): string {
  let place = 0
  const parameter = () => (kind === 'postgres' ? `$${++place}` : '?')
  const row = () => `(${columns.map(parameter).join(',')})`
  const names = columns.map((column) => `"${column.name}"`).join(',')
  return `insert into "${name}" (${names}) values ${Array.from({ length: rows }, row).join(',')}`
}
