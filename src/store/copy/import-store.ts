import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { DatabaseLocation } from '../database-url.ts'
import { schemaVersion } from '../migrate.ts'
import type { Tables } from '../tables.ts'
import {
  EXPORT_VERSION,
  type ExportTrailer,
  readHeader,
  readRow,
  readSection,
  readTrailer,
} from './export-format.ts'
import { EXPORTED_TABLES, type ExportedTable } from './exported-tables.ts'
import { inLongTransaction } from './long-transaction.ts'
import { LineTooLong, readLines } from './read-lines.ts'
import { RowInserts } from './row-inserts.ts'

/** An export can't be imported, and the store is as it was; the message says what to do. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused'
}

export interface ImportStoreInput<Verified> {
  /** Of a store whose tables are there and empty, and that nobody serves from. */
  readonly location: DatabaseLocation
  readonly file: string
  /** Looks at the store with all its rows before they are committed; where it rejects, none are. */
  readonly verify: (view: Kysely<Tables>) => Promise<Verified>
  /** Told every now and then how many rows were read. */
  readonly onRows?: (rows: number) => void
}

/** What an import came to. */
export interface Imported<Verified> {
  /** How many rows each table has. */
  readonly rows: ExportTrailer['rows']
  /** Null: nothing was served from the store. */
  readonly upstream: string | null
  readonly verified: Verified
}

/**
 * Fills an empty store with the rows of an export, in one transaction and in constant memory. Rejects
 * with `ImportRefused` where the store is not empty, or the file is not a whole export of this program's
 * schema; with what `verify` rejects with; and then the store is empty still.
 */
export function importStore<Verified>(
  input: ImportStoreInput<Verified>,
): Promise<Imported<Verified>> {
  const { location, file, verify } = input
  return inLongTransaction(location, async (view) => {
    await lockTables(view, location)
    await refuseUnlessEmpty(view)
    const reading = new Reading({
      schema: await schemaVersion(view),
      inserts: new RowInserts({ view, engine: location.kind }),
      onRows: input.onRows ?? (() => {}),
    })
    try {
      await reading.read(file)
    } catch (error) {
      throw error instanceof LineTooLong ? reading.fault(error.message) : error
    }
    const { rows, upstream } = reading.finished()
    await compareCounts(view, rows)
    await gatherStatistics(view, location)
    return { rows, upstream, verified: await verify(view) }
  })
}

/** So that a server which starts meanwhile waits, and finds the store whole or empty. */
async function lockTables(view: Kysely<Tables>, { kind }: DatabaseLocation): Promise<void> {
  // SQLite's transaction has the only right to write by now.
  if (kind === 'sqlite') return
  const names = EXPORTED_TABLES.map(({ name }) => `"${name}"`).join(', ')
  await sql.raw(`lock table ${names} in share row exclusive mode`).execute(view)
}

async function refuseUnlessEmpty(view: Kysely<Tables>): Promise<void> {
  for (const { name } of EXPORTED_TABLES) {
    const { rows } = await sql.raw(`select 1 from "${name}" limit 1`).execute(view)
    if (rows.length > 0) {
      throw new ImportRefused(
        `the store is not empty, it has ${name}: set DATABASE_URL to a file that is not there yet, ` +
          'or to an empty database, and import before `tollgate serve` is started on it',
      )
    }
  }
}

async function compareCounts(view: Kysely<Tables>, counts: ExportTrailer['rows']): Promise<void> {
  for (const { name } of EXPORTED_TABLES) {
    const { rows } = await sql
      .raw<{ readonly count: unknown }>(`select count(*) as count from "${name}"`)
      .execute(view)
    if (Number(rows[0]?.count) !== counts[name]) {
      throw new ImportRefused(
        `the store came to have ${String(rows[0]?.count)} rows of ${name} and the export has ${counts[name]}`,
      )
    }
  }
}

/** Of tables that were just filled PostgreSQL knows nothing, and may read them whole for each page. */
async function gatherStatistics(view: Kysely<Tables>, { kind }: DatabaseLocation): Promise<void> {
  if (kind === 'sqlite') return
  for (const { name } of EXPORTED_TABLES) await sql.raw(`analyze "${name}"`).execute(view)
}

interface ReadingInput {
  /** That the rows must be of. */
  readonly schema: number
  readonly inserts: RowInserts
  readonly onRows: (rows: number) => void
}

// The longest rows are those of the catalog, a provider's text of one model.
const LINE_BYTES_MAX = 16 * 1024 * 1024
const LEFT_BRACKET = '['.charCodeAt(0)

/**
 * Reads an export from the first line to the last. It is at the header, then within a table, and at its
 * end once the trailer was read: whatever comes in another order is refused.
 */
class Reading {
  readonly #input: ReadingInput
  readonly #digest = createHash('sha256')
  readonly #counts: Record<string, number> = {}
  #line = 0
  #upstream: string | null = null
  #table: ExportedTable | null = null
  #tablesBegun = 0
  #rows = 0
  #trailer: ExportTrailer | null = null

  constructor(input: ReadingInput) {
    this.#input = input
  }

  async read(file: string): Promise<void> {
    for await (const lines of readLines({ file, lineBytesMax: LINE_BYTES_MAX })) {
      for (const line of lines) {
        this.#line += 1
        if (line[0] === LEFT_BRACKET && this.#table !== null && this.#trailer === null) {
          await this.#readRow(line)
        } else await this.#readOther(line)
      }
      this.#input.onRows(this.#rows)
    }
  }

  /** What was read. Throws `ImportRefused` where the end is missing. */
  finished(): { readonly rows: ExportTrailer['rows']; readonly upstream: string | null } {
    if (this.#line === 0) throw new ImportRefused('the file is empty: it is no export')
    if (this.#trailer === null) {
      throw new ImportRefused(
        `the file ends after ${this.#rows} rows without the last line of an export: ` +
          'it was cut off; copy it again, or export again',
      )
    }
    return { rows: this.#trailer.rows, upstream: this.#upstream }
  }

  fault(what: string): ImportRefused {
    return new ImportRefused(`line ${this.#line} of the file: ${what}`)
  }

  async #readRow(line: Buffer): Promise<void> {
    this.#digest.update(line)
    const table = this.#table
    const values = table === null ? null : readRow(table.columns, line.toString())
    if (table === null || values === null) {
      throw this.fault(`it is no row of ${table?.name}: the file was changed; export again`)
    }
    await this.#input.inserts.add(table, values)
    this.#counts[table.name] = (this.#counts[table.name] ?? 0) + 1
    this.#rows += 1
  }

  async #readOther(line: Buffer): Promise<void> {
    const text = line.toString()
    if (this.#line === 1) this.#readHeader(text)
    else if (this.#tablesBegun === EXPORTED_TABLES.length) return this.#readTrailer(text)
    else this.#beginTable(text)
    this.#digest.update(line)
  }

  #readHeader(text: string): void {
    const header = readHeader(text)
    if (header === null) {
      throw new ImportRefused('the file is no export: `tollgate export <file>` makes one')
    }
    const { version, schema, upstream } = header
    if (version > EXPORT_VERSION || schema > this.#input.schema) {
      throw new ImportRefused(
        'the export was made by a newer program: run that one, or a newer one, to import it',
      )
    }
    if (version < EXPORT_VERSION || schema < this.#input.schema) {
      throw new ImportRefused(
        `the export has schema ${schema} and this program needs ${this.#input.schema}: start this ` +
          "program's `tollgate serve` once on the old store, which migrates it, and export it again",
      )
    }
    this.#upstream = upstream
  }

  #beginTable(text: string): void {
    const table = EXPORTED_TABLES[this.#tablesBegun]
    const section = readSection(text)
    const expected = table?.columns.map(({ name }) => name)
    if (table === undefined || section?.table !== table.name) {
      throw this.fault(`the rows of ${table?.name} should begin here: the file was changed`)
    }
    if (section.columns.join() !== expected?.join()) {
      throw this.fault(`${table.name} has other columns than this program's`)
    }
    this.#tablesBegun += 1
    this.#table = table
    this.#counts[table.name] = 0
  }

  async #readTrailer(text: string): Promise<void> {
    const trailer = this.#trailer === null ? readTrailer(text) : null
    if (trailer === null) throw this.fault('the export should end here: the file was changed')
    await this.#input.inserts.flush()
    for (const { name } of EXPORTED_TABLES) {
      if (trailer.rows[name] !== this.#counts[name]) {
        throw new ImportRefused(
          `the file has ${this.#counts[name]} rows of ${name} and says that it has ` +
            `${trailer.rows[name]}: it was changed; copy it again, or export again`,
        )
      }
    }
    if (trailer.sha256 !== this.#digest.digest('hex')) {
      throw new ImportRefused(
        'the file is not as it was written, its digest differs: copy it again, or export again',
      )
    }
    this.#trailer = trailer
  }
}
