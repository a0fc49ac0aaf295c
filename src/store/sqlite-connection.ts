import { DatabaseSync } from 'node:sqlite'

export interface SqliteConnectionInput {
  readonly file: string
  /** How long a statement waits for another connection's lock. Default 5,000. */
  readonly busyTimeoutMs?: number
  /** Default false. */
  readonly readOnly?: boolean
}

const BUSY_TIMEOUT_MS_DEFAULT = 5_000

/**
 * Opens a connection the one way that all of them are opened: write-ahead log, every commit synced to
 * the disk, foreign keys enforced. Throws what `node:sqlite` throws.
 */
export function openSqliteConnection(input: SqliteConnectionInput): DatabaseSync {
  const connection = new DatabaseSync(input.file, {
    readOnly: input.readOnly ?? false,
    enableForeignKeyConstraints: true,
    timeout: input.busyTimeoutMs ?? BUSY_TIMEOUT_MS_DEFAULT,
  })
  if (input.readOnly !== true) connection.exec('pragma journal_mode = wal')
  connection.exec('pragma synchronous = full')
  return connection
}
