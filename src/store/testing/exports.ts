import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { EXPORT_VERSION, headerLine, sectionLine, trailerLine } from '../copy/export-format.ts'
import { exportView } from '../copy/export-view.ts'
import { EXPORTED_TABLES } from '../copy/exported-tables.ts'
import { MIGRATIONS } from '../migrations/migrations.ts'
import { openStore } from '../open-store.ts'

/** The lines of rows, each a JSON array without its end, by their table; absent tables are empty. */
export type RowLines = Readonly<Record<string, readonly string[]>>

/** An export as the program writes one, of rows that are given as they are to stand in it. */
export function exportText(rowLines: RowLines): string {
  const lines = [
    headerLine({ version: EXPORT_VERSION, schema: MIGRATIONS.length, upstream: null }),
    ...EXPORTED_TABLES.flatMap((table) => [sectionLine(table), ...(rowLines[table.name] ?? [])]),
  ]
  return sealed(lines, rowLines)
}

/** Lines with a trailer that says of them what is true. */
export function sealed(lines: readonly string[], rowLines: RowLines): string {
  const text = `${lines.join('\n')}\n`
  const rows = Object.fromEntries(
    EXPORTED_TABLES.map(({ name }) => [name, rowLines[name]?.length ?? 0]),
  )
  const sha256 = createHash('sha256').update(text).digest('hex')
  return `${text}${trailerLine({ rows, sha256 })}\n`
}

/** Exports a store to a file, and returns what is in it. */
export async function exportedText({
  url,
  file,
}: {
  readonly url: string
  readonly file: string
}): Promise<string> {
  const store = await openStore({ url })
  try {
    await store.snapshot((view) => exportView({ view, engine: store.location.kind, file }))
  } finally {
    await store.close()
  }
  return readFile(file, 'utf8')
}
