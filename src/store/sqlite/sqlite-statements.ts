import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { isBusy, NotSent } from '../store-failure.ts'
import {
  BUSY_TIMEOUT_MS_DEFAULT,
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

// Inserts of many rows are long, come in many lengths, and take longer to run than to prepare.
const KEPT_PARAMETERS_MAX = 100

// After one statement has waited in vain, the statements behind it, reads included, would each wait as long.
const HURRIED_FOR_MS = 10_000
const HURRIED_BUSY_TIMEOUT_MS = 250

const COLLECT_AFTER_MS = 3_000

class StatementRunner implements JobRunner<SqlJob, SqlResult> {
  readonly #connection: DatabaseSync
  readonly #isReadOnly: boolean
  readonly #requireSameFiles: ReturnType<typeof sameFilesCheck>
  readonly #statements = new Map<string, StatementSync>()
  readonly #busyTimeoutMs: number
  /** Until then statements hardly wait for a lock; null: they wait as usual. */
  #hurriedUntilMs: number | null = null

  constructor(input: SqliteConnectionInput) {
    this.#busyTimeoutMs = input.busyTimeoutMs ?? BUSY_TIMEOUT_MS_DEFAULT
    this.#connection = openSqliteConnection(input)
    this.#isReadOnly = input.readOnly ?? false
    this.#requireSameFiles = sameFilesCheck(input)
  }

  run({ sql, parameters }: SqlJob): SqlResult {
    // A transaction must end, wherever its file is.
    if (sql !== 'rollback') this.#requireSameFiles(NotSent)
    if (performance.now() >= (this.#hurriedUntilMs ?? Infinity)) this.#endHurry()
    try {
      return this.#run({ sql, parameters })
    } catch (error) {
      if (isBusy(error) && this.#hurriedUntilMs === null) {
        this.#waitForLocks(Math.min(HURRIED_BUSY_TIMEOUT_MS, this.#busyTimeoutMs))
        this.#hurriedUntilMs = performance.now() + HURRIED_FOR_MS
      }
      throw error
    }
  }

  #run({ sql, parameters }: SqlJob): SqlResult {
    const statement = this.#prepare({ sql, parameters })
    if (statement.columns().length > 0) return { rows: statement.all(...parameters), changes: 0 }
    const { changes } = statement.run(...parameters)
    // A write has had the lock; reads need none.
    if (this.#hurriedUntilMs !== null) this.#endHurry()
    return { rows: [], changes: Number(changes) }
  }

  close(): void {
    if (this.#isReadOnly) this.#connection.close()
    else checkpointAndClose(this.#connection)
  }

  #endHurry(): void {
    this.#waitForLocks(this.#busyTimeoutMs)
    this.#hurriedUntilMs = null
  }

  #waitForLocks(busyTimeoutMs: number): void {
    this.#connection.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
  }

  #prepare({ sql, parameters }: SqlJob): StatementSync {
    if (parameters.length > KEPT_PARAMETERS_MAX) return this.#connection.prepare(sql)
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
