import { workerData } from 'node:worker_threads'
import {
  openSqliteConnection,
  type SqliteConnectionInput,
} from '../../store/sqlite/sqlite-connection.ts'
import { serveThread } from '../../store/threads/thread-worker.ts'
import type { Terms } from '../rules/open-hold.ts'
import type { LedgerCommand, LedgerVerdict } from './commands.ts'
import { SqliteBooks } from './sqlite-books.ts'

/** One commit: the commands of a batch, in the order to apply them. */
export interface WriterJob {
  readonly commands: readonly LedgerCommand[]
  readonly terms: Terms
}

// The entry file of the thread that writes the books of a SQLite store.
const connectionInput: SqliteConnectionInput = workerData
serveThread<WriterJob, readonly LedgerVerdict[]>(() => {
  const connection = openSqliteConnection(connectionInput)
  const books = new SqliteBooks(connection)
  return {
    answer: ({ commands, terms }) => books.apply(commands, terms),
    close: () => connection.close(),
  }
})
