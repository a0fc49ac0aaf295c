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

/**
 * Writes the write-ahead log into the file and closes the connection, so that the file alone has all of
 * the store. SQLite does this by itself only where no other connection has the file open. Where another one
 * reads or writes at this moment, the log is left to that one: waiting would hold up a server's commits.
 */
export function checkpointAndClose(connection: DatabaseSync): void {
  try {
    connection.exec('pragma busy_timeout = 0')
    connection.prepare('pragma wal_checkpoint(truncate)').get()
  } finally {
    connection.close()
  }
}
