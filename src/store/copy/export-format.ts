import { z } from 'zod'
import type { ExportedColumn, ExportedTable } from './exported-tables.ts'

/**
 * An export is lines of JSON: a header; for each table a line that names it and its columns, and a line
 * for each row, in the order of its key; and a trailer with the counts and a digest of all before it.
 * Nothing in it depends on the engine or on when it was made: stores with the same rows give the same
 * bytes.
 */
export const EXPORT_VERSION = 1

/** A value of a row. Integers are `bigint` where they are no safe integers. */
export type ExportedValue = string | number | bigint | null

const FORMAT = 'tollgate-export'

const headerShape = z.object({
  format: z.literal(FORMAT),
  version: z.int(),
  schema: z.int(),
  upstream: z.string().nullable(),
})

/** The first line of an export. */
export interface ExportHeader {
  /** Of the format: `EXPORT_VERSION`. */
  readonly version: number
  /** The newest migration of the store that was exported. */
  readonly schema: number
  /** Where the store's money was spent, or `simulator`; null: nothing was served from it. */
  readonly upstream: string | null
}

const sectionShape = z.object({ table: z.string(), columns: z.array(z.string()) })

const trailerShape = z.object({
  rows: z.record(z.string(), z.int()),
  sha256: z.string(),
})

/** The last line of an export. */
export type ExportTrailer = Readonly<z.infer<typeof trailerShape>>

/** Writes the first line, without its end. */
export function headerLine({ version, schema, upstream }: ExportHeader): string {
  return JSON.stringify({ format: FORMAT, version, schema, upstream })
}

/** Writes the line before the rows of a table, without its end. */
export function sectionLine({ name, columns }: ExportedTable): string {
  return JSON.stringify({ table: name, columns: columns.map((column) => column.name) })
}

/** Writes the last line, without its end. */
export function trailerLine({ rows, sha256 }: ExportTrailer): string {
  return JSON.stringify({ rows, sha256 })
}

/** Reads the first line; null where it is none. */
export function readHeader(line: string): ExportHeader | null {
  return headerShape.safeParse(parsed(line)).data ?? null
}

/** Reads a line before the rows of a table: its name and columns; null where it is none. */
export function readSection(
  line: string,
): { readonly table: string; readonly columns: readonly string[] } | null {
  return sectionShape.safeParse(parsed(line)).data ?? null
}

/** Reads the last line; null where it is none. */
export function readTrailer(line: string): ExportTrailer | null {
  return trailerShape.safeParse(parsed(line)).data ?? null
}

/**
 * Writes a row as the database gives it, integers as text. Throws where an integer's text is none, or a
 * text is none: the store has something else there than its columns say.
 */
export function rowLine(columns: readonly ExportedColumn[], values: readonly unknown[]): string {
  const written = columns.map(({ name, kind }, place) => {
    const value = values[place]
    if (value === null) return 'null'
    if (typeof value !== 'string' || (kind === 'integer' && !/^-?\d{1,19}$/.test(value))) {
      throw new TypeError(`the store has ${String(value)} in the ${kind} column ${name}`)
    }
    return kind === 'integer' ? value : JSON.stringify(value)
  })
  return `[${written.join(',')}]`
}

/** Reads a row; null where it is none of a table with these columns. */
export function readRow(columns: readonly ExportedColumn[], line: string): ExportedValue[] | null {
  const values = parsed(line)
  if (!Array.isArray(values) || values.length !== columns.length) return null
  const exact = values.some(isInexact) ? exactValues(line) : values
  return columns.every(({ kind }, place) => isOfKind(kind, exact[place])) ? exact : null
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

function isInexact(value: unknown): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value)
}

/** The members of a line that is a JSON array of texts, numbers and nulls, each integer exact. */
function exactValues(line: string): ExportedValue[] {
  return membersOf(line).map((member) => {
    if (member === 'null') return null
    if (member.startsWith('"')) return String(JSON.parse(member))
    const nearest = Number(member)
    return Number.isSafeInteger(nearest) || !/^-?\d+$/.test(member) ? nearest : BigInt(member)
  })
}

/** The source of each member. A text can be of megabytes, which a pattern has no stack for. */
function membersOf(line: string): string[] {
  const members: string[] = []
  const start = /["n\d-]/g
  for (let found = start.exec(line); found !== null; found = start.exec(line)) {
    const { index } = found
    const end = line[index] === '"' ? endOfText(line, index) : endOfPlain(line, index)
    members.push(line.slice(index, end))
    start.lastIndex = end
  }
  return members
}

/** By position: a line, and where a text of it begins. */
function endOfText(line: string, start: number): number {
  for (let end = line.indexOf('"', start + 1); end > 0; end = line.indexOf('"', end + 1)) {
    let escapes = 0
    while (line[end - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return end + 1
  }
  return line.length
}

/** By position: a line, and where a number or null of it begins. */
function endOfPlain(line: string, start: number): number {
  const end = /[^-+.\w]/g
  end.lastIndex = start
  return end.exec(line)?.index ?? line.length
}

const INTEGER_MAX = 2n ** 63n - 1n

function isOfKind(kind: ExportedColumn['kind'], value: unknown): boolean {
  if (value === null) return true
  if (kind === 'text') return typeof value === 'string'
  if (typeof value === 'bigint') return value <= INTEGER_MAX && value >= -INTEGER_MAX - 1n
  return Number.isSafeInteger(value)
}
