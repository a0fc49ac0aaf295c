import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { NotSent } from '../store-failure.ts'
import {
  checkpointAndClose,
  openSqliteConnection,
  type SqliteConnectionInput,
  sameFilesCheck,
} from './sqlite-connection.ts'
import { collectGarbage, type JobRunner, serveThread } from './store-thread.ts'

/** One SQL statement that Kysely compiled. */
export interface SqlJob {
  readonly sql: string
  readonly parameters: readonly SQLInputValue[]
}

/** The result of a statement. */
export interface SqlResult {
  readonly rows: readonly unknown[]
  /** Rows that an insert, update or delete touched; zero for reads. */
  readonly changes: number
}

// Each shape of query is a separate statement; filters make many shapes, and each keeps memory.
const STATEMENTS_MAX = 256

const COLLECT_AFTER_MS = 3_000

class StatementRunner implements JobRunner<SqlJob, SqlResult> {
  readonly #connection: DatabaseSync
  readonly #isReadOnly: boolean
  readonly #requireSameFiles: ReturnType<typeof sameFilesCheck>
  readonly #statements = new Map<string, StatementSync>()

  constructor(input: SqliteConnectionInput) {
    this.#connection = openSqliteConnection(input)
    this.#isReadOnly = input.readOnly ?? false
    this.#requireSameFiles = sameFilesCheck(input)
  }

  run({ sql, parameters }: SqlJob): SqlResult {
    // A transaction must end, wherever its file is.
    if (sql !== 'rollback') this.#requireSameFiles(NotSent)
    const statement = this.#prepare(sql)
    if (statement.columns().length > 0) return { rows: statement.all(...parameters), changes: 0 }
    return { rows: [], changes: Number(statement.run(...parameters).changes) }
  }

  close(): void {
    if (this.#isReadOnly) this.#connection.close()
    else checkpointAndClose(this.#connection)
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear()
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

// The store that started this host says so.
serveThread((startWith) => new StatementRunner(startWith as SqliteConnectionInput))
// A start leaves as much garbage as a thread needs. Later, so that a short command does without it.
setTimeout(collectGarbage, COLLECT_AFTER_MS).unref()
