import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { DatabaseLocation } from '../database-url.ts'
import { schemaVersion } from '../migrate.ts'
import { writeNewFile } from '../new-file.ts'
import { readSetting } from '../settings.ts'
import type { Tables } from '../tables.ts'
import {
  EXPORT_VERSION,
  type ExportTrailer,
  headerLine,
  rowLine,
  sectionLine,
  trailerLine,
} from './export-format.ts'
import { EXPORTED_TABLES } from './exported-tables.ts'
import { readRows } from './read-rows.ts'

export interface ExportViewInput {
  /** Of `Store.snapshot`: all of the export is of its one moment. */
  readonly view: Kysely<Tables>
  readonly engine: DatabaseLocation['kind']
  /** Must not be there yet. */
  readonly file: string
  /** Told every now and then how many rows are written. */
  readonly onRows?: (rows: number) => void
}

/** What an export came to. */
export interface Exported extends ExportTrailer {
  readonly schema: number
  readonly bytes: number
}

/**
 * Writes every row of a store to a file that only its owner may read, in constant memory; see
 * `export-format.ts`. Throws `FileExists`; `StoreUnavailable` where the store or the file fails.
 */
export function exportView(input: ExportViewInput): Promise<Exported> {
  return writeNewFile(input.file, async ({ handle }) => {
    const digest = createHash('sha256')
    let bytes = 0
    const write = async (lines: readonly string[]): Promise<void> => {
      const text = Buffer.from(`${lines.join('\n')}\n`)
      digest.update(text)
      bytes += text.length
      await handle.appendFile(text)
    }
    const schema = await schemaVersion(input.view)
    const upstream = await readSetting(input.view, 'upstream')
    await write([headerLine({ version: EXPORT_VERSION, schema, upstream })])
    const rows = await writeTables(input, write)
    const trailer = { rows, sha256: digest.copy().digest('hex') }
    await write([trailerLine(trailer)])
    return { ...trailer, schema, bytes }
  })
}

async function writeTables(
  { view, engine, onRows }: ExportViewInput,
  write: (lines: readonly string[]) => Promise<void>,
): Promise<ExportTrailer['rows']> {
  const counts: Record<string, number> = {}
  let all = 0
  for (const table of EXPORTED_TABLES) {
    await write([sectionLine(table)])
    let count = 0
    for await (const page of readRows({ view, engine, table })) {
      await write(page.map((values) => rowLine(table.columns, values)))
      count += page.length
      onRows?.(all + count)
    }
    counts[table.name] = count
    all += count
  }
  return counts
}
