import { Kysely } from 'kysely'
import type { DatabaseLocation } from '../database-url.ts'
import { postgresPoolDialect } from '../postgres/postgres-dialect.ts'
import { sqliteThreadDialect } from '../sqlite/sqlite-dialect.ts'
import type { Tables } from '../tables.ts'

/**
 * Runs `write` in one transaction on a connection of its own, whose statements may take as long as they
 * do. It is committed when `write` resolves; where it rejects, nothing was done. On SQLite nobody else
 * writes meanwhile.
 */
export async function inLongTransaction<T>(
  location: DatabaseLocation,
  write: (view: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const dialect =
    location.kind === 'postgres'
      ? postgresPoolDialect({ url: location.url, connectionsMax: 1, use: 'migrations' })
      : sqliteThreadDialect({ file: location.file })
  const db = new Kysely<Tables>({ dialect })
  try {
    return await db.transaction().execute(write)
  } finally {
    await db.destroy()
  }
}
