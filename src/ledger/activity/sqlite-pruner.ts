import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  openSqliteConnection,
  type SqliteConnectionInput,
  sameFilesCheck,
} from '../../store/sqlite/sqlite-connection.ts'
import { type JobRunner, serveThread } from '../../store/sqlite/store-thread.ts'
import { NotSent } from '../../store/store-failure.ts'
import {
  addToPruned,
  chartedWithout,
  daysOf,
  PRUNABLE,
  PRUNED_COLUMNS,
  PRUNED_SUMS,
  type PruneBatch,
  type Pruned,
  prunedDay,
} from './prune-requests.ts'

const OF_IDS = `from requests where id in (select value from json_each(?1)) and
  ${PRUNABLE.replace('$', '?2')}`

const MARKED = Object.keys(prunedDay(0))

/**
 * Prunes a SQLite store. It runs in a thread, so that the write lock is held for its own statements, which are
 * a read of the days, an insert a day, and two of the requests, and not for other work of the event loop between them.
 */
class SqlitePruner implements JobRunner<PruneBatch, Pruned> {
  readonly #connection: DatabaseSync
  readonly #requireSameFiles: ReturnType<typeof sameFilesCheck>
  readonly #page: StatementSync
  readonly #rolled: StatementSync
  readonly #mark: StatementSync
  readonly #keep: StatementSync
  readonly #remove: StatementSync

  constructor(input: SqliteConnectionInput) {
    const connection = openSqliteConnection(input)
    this.#connection = connection
    this.#requireSameFiles = sameFilesCheck(input)
    this.#page = connection.prepare(
      `select id, ${PRUNABLE.replace('$', '?1')} as prunable from requests
       where id > ?2 and id < ?3 order by id limit ?4`,
    )
    this.#rolled = connection.prepare(
      `select number from usage_rolled
       where step = 'day' and number in (select value from json_each(?1))`,
    )
    this.#mark = connection.prepare(
      `insert into usage_rolled (${MARKED.join(', ')}) values (${MARKED.map(() => '?').join(', ')})
       on conflict do nothing`,
    )
    this.#keep = connection.prepare(
      `insert into pruned_requests (${PRUNED_COLUMNS}) select ${PRUNED_SUMS} ${OF_IDS}
       group by api_key_id, account_id ${addToPruned('max')}`,
    )
    this.#remove = connection.prepare(`delete ${OF_IDS}`)
  }

  run({ settledBeforeMs, untilId, afterId, rowsMax }: PruneBatch): Pruned {
    this.#requireSameFiles(NotSent)
    const page = this.#page.all(settledBeforeMs, afterId, untilId, rowsMax)
    const old = page.filter((row) => row['prunable'] === 1).map((row) => String(row['id']))
    const last = page.at(-1)
    return {
      requests: this.#charted(old).length === 0 ? 0 : this.#prune(old, settledBeforeMs),
      nextAfterId: page.length < rowsMax || last === undefined ? null : String(last['id']),
    }
  }

  close(): void {
    this.#connection.close()
  }

  #charted(requestIds: readonly string[]): readonly string[] {
    const rolled = this.#rolled.all(JSON.stringify(daysOf(requestIds)))
    return chartedWithout(requestIds, new Set(rolled.map((row) => row['number'])))
  }

  #prune(old: readonly string[], settledBeforeMs: number): number {
    this.#connection.exec('begin immediate')
    try {
      // Checked again: a late request may have made a day be rolled up again since, from all of its requests.
      const charted = this.#charted(old)
      for (const day of daysOf(charted)) this.#mark.run(...Object.values(prunedDay(day)))
      const ids = JSON.stringify(charted)
      this.#keep.run(ids, settledBeforeMs)
      const { changes } = this.#remove.run(ids, settledBeforeMs)
      this.#connection.exec('commit')
      return Number(changes)
    } catch (error) {
      if (this.#connection.isTransaction) this.#connection.exec('rollback')
      throw error
    }
  }
}

// The pruner that started this thread reports the failure.
serveThread((startWith) => new SqlitePruner(startWith as SqliteConnectionInput))
