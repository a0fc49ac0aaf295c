import {
  openSqliteConnection,
  type SqliteConnectionInput,
  sameFilesCheck,
} from '../../store/sqlite/sqlite-connection.ts'
import { serveThread } from '../../store/sqlite/store-thread.ts'
import { NotSent, StoreUnavailable } from '../../store/store-failure.ts'
import type { LedgerCommand } from '../commands.ts'
import type { Terms } from '../rules/open-hold.ts'
import type { CommittedBatch } from './batched-ledger.ts'
import { SqliteEngine } from './sqlite-engine.ts'

/** One commit: the commands of a batch, in the order to apply them. */
export interface WriterJob {
  readonly commands: readonly LedgerCommand[]
  readonly terms: Terms
}

// The entry file of the thread that writes the ledger of a SQLite store.
serveThread<WriterJob, CommittedBatch>((startWith) => {
  // The ledger that starts the thread sends this type.
  const input = startWith as SqliteConnectionInput
  const connection = openSqliteConnection(input)
  const requireSameFiles = sameFilesCheck(input)
  const engine = new SqliteEngine(connection)
  return {
    run({ commands, terms }) {
      // Also checked before: a hold that is not written needs no release.
      requireSameFiles(NotSent)
      const committed = engine.apply(commands, terms)
      // Checked again before anything is answered: the files may have been moved meanwhile.
      requireSameFiles(StoreUnavailable)
      return committed
    },
    close: () => connection.close(),
  }
})
