import { type Micros, micros } from '../vocabulary/money.ts'

/** A value as every engine takes it: times and money are integers, yes and no 1 and 0. */
export type StoredValue = string | number | null

/** A row as a database driver gives it. */
export type StoredRow = Readonly<Record<string, unknown>>

/** What a column holds, and how the field of a row is read from it and written to it. */
export interface Column<Field = unknown, Value extends StoredValue = StoredValue> {
  /** Integers have 64 bits in the database; those that the gateway writes are safe integers. */
  readonly type: 'text' | 'integer'
  readonly isNullable: boolean
  /** Throws TypeError where the store has something else; `name` is the column's. */
  read(value: unknown, name: string): Field
  write(field: Field): Value
}

/** Columns of a table that are null together; the first one decides. */
export interface Together<Group extends ColumnGroup = ColumnGroup> {
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

/** Micro-dollars. */
export const amount: Column<Micros, number> = {
  ...integer,
  read: (value, name) => micros(integer.read(value, name)),
}

/** Yes or no, stored as 1 or 0. */
export const flag: Column<boolean, number> = {
  type: 'integer',
  isNullable: false,
  read: (value, name) => integer.read(value, name) === 1,
  write: (field) => (field ? 1 : 0),
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

/** One field of a row for several columns, null where they are. */
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
