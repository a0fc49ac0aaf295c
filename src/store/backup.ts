import { type Kysely, sql } from 'kysely'
import { writeNewFile } from './new-file.ts'
import type { Tables } from './schema.ts'

/**
 * Copies a SQLite store, as it is at one moment, to a file that is not there yet and that only its owner
 * may read, while others go on reading and writing. `onCopy` is told the file that grows meanwhile.
 * Throws `WrongPlace`; `StoreUnavailable` where it can't be written.
 */
export async function backupStore(
  db: Kysely<Tables>,
  { file, onCopy }: { readonly file: string; readonly onCopy?: (partial: string) => void },
): Promise<void> {
  await writeNewFile(file, async (partial) => {
    onCopy?.(partial)
    await sql`vacuum into ${partial}`.execute(db)
  })
}
