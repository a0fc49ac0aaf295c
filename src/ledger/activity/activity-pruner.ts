import { CompiledQuery, type Kysely, type SelectQueryBuilder } from 'kysely'
import { Passes } from '../../store/passes.ts'
import type { Tables } from '../../store/schema.ts'
import type { SqliteConnectionInput } from '../../store/sqlite/sqlite-connection.ts'
import { StoreThread } from '../../store/sqlite/store-thread.ts'
import type { Store } from '../../store/store.ts'
import { type Clock, DAY_MS } from '../../vocabulary/clock.ts'
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
  pruneUntilId,
} from './prune-requests.ts'

interface ActivityPrunerInput {
  readonly store: Store
  readonly clock: Clock
  /** How many days a request is kept after it is settled. */
  readonly keepDays: number
  /** Called with the number of requests after each pass that pruned some. */
  readonly onPruned: (requests: number) => void
  /** Called when the store failed; the next pass continues. */
  readonly onFailure: (cause: unknown) => void
  /** The most rows that a transaction removes. Default 50. */
  readonly batchRowsMax?: number
}

const PASS_INTERVAL_MS = 60_000

// Each row is in three indexes, mostly on pages of their own that the commit writes: few rows, so that a
// batch does not hold up other writers noticeably.
const BATCH_ROWS_MAX_DEFAULT = 50

// Between two batches: requests have the writer for nine tenths of the time, however slow the disk is and
// however much there is to prune.
const BATCH_PAUSE_MS_MIN = 50
const PAUSE_PER_BATCH = 9

/**
 * Removes requests from Activity that were settled long ago and are rolled up, a few at a time and the oldest
 * first. Their charges stay in the entries, and are added up in `pruned_requests`, so that the audit can check
 * the entries. Several gateways may prune the same store.
 */
export class ActivityPruner {
  readonly #input: ActivityPrunerInput
  readonly #thread: StoreThread<PruneBatch, Pruned> | null
  readonly #passes: Passes

  constructor(input: ActivityPrunerInput) {
    this.#input = input
    const { location } = input.store
    this.#thread = location.kind === 'sqlite' ? openThread(location) : null
    this.#passes = new Passes({
      intervalMs: PASS_INTERVAL_MS,
      onFailure: input.onFailure,
      pass: async () => {
        const requests = await this.pass()
        if (requests > 0) input.onPruned(requests)
      },
    })
  }

  /** Begins a pass at once, and another a minute after each. */
  start(): void {
    this.#passes.start()
  }

  /** Begins a pass now, unless one is running. */
  wake(): void {
    this.#passes.wake()
  }

  /** Prunes all requests that are old enough, and returns their number. Rejects if the store fails. */
  async pass(): Promise<number> {
    const { store, clock, keepDays, batchRowsMax = BATCH_ROWS_MAX_DEFAULT } = this.#input
    const nowMs = clock.nowMs()
    const settledBeforeMs = nowMs - keepDays * DAY_MS
    const untilId = pruneUntilId({ settledBeforeMs, nowMs })
    let requests = 0
    let afterId: string | null = ''
    while (afterId !== null && !this.#passes.stopped) {
      const batch: PruneBatch = { settledBeforeMs, untilId, afterId, rowsMax: batchRowsMax }
      const begunAtMs = performance.now()
      const pruned: Pruned = await (this.#thread?.call(batch) ?? prunePostgres(store.db, batch))
      const pauseMs = PAUSE_PER_BATCH * (performance.now() - begunAtMs)
      requests += pruned.requests
      afterId = pruned.nextAfterId
      if (afterId !== null) await this.#passes.wait(Math.max(BATCH_PAUSE_MS_MIN, pauseMs))
    }
    return requests
  }

  /** Stops after the running batch. */
  async stop(): Promise<void> {
    await this.#passes.stop()
    await this.#thread?.close()
  }
}

function openThread(startWith: SqliteConnectionInput): StoreThread<PruneBatch, Pruned> {
  return new StoreThread({ entry: new URL('./sqlite-pruner.ts', import.meta.url), startWith })
}

interface PageRow {
  readonly id: string
  readonly account_id: string
  readonly prunable: boolean
}

const PAGE = `select id, account_id, ${PRUNABLE.replace('$', '$1')} as prunable from requests
  where id > $2 and id < $3 order by id limit $4`

// In the order of ids, as the ledger does: an account's lock guards all its rows.
const LOCK_ACCOUNTS = `select id from accounts where id = any($1) order by id for no key update`

const PRUNE = `with gone as (
    delete from requests where id = any($1) and ${PRUNABLE.replace('$', '$2')}
    returning *
  ), kept as (
    insert into pruned_requests (${PRUNED_COLUMNS})
    select ${PRUNED_SUMS} from gone group by api_key_id, account_id order by api_key_id
    ${addToPruned('greatest')}
  )
  select count(*) as requests from gone`

/** Prunes a batch of a PostgreSQL store. Other gateways can prune at the same time. */
async function prunePostgres(
  db: Kysely<Tables>,
  { settledBeforeMs, untilId, afterId, rowsMax }: PruneBatch,
): Promise<Pruned> {
  const { rows } = await db.executeQuery<PageRow>(
    CompiledQuery.raw(PAGE, [settledBeforeMs, afterId, untilId, rowsMax]),
  )
  const ids = rows.filter(({ prunable }) => prunable).map(({ id }) => id)
  const charted = new Set(chartedWithout(ids, await rolledDays(db.selectFrom('usage_rolled'), ids)))
  const old = rows.filter(({ id }) => charted.has(id))
  return {
    requests: old.length === 0 ? 0 : await prune(db, { old, settledBeforeMs }),
    nextAfterId: rows.length < rowsMax ? null : (rows.at(-1)?.id ?? null),
  }
}

async function rolledDays(
  marks: SelectQueryBuilder<Tables, 'usage_rolled', unknown>,
  requestIds: readonly string[],
): Promise<ReadonlySet<number>> {
  const days = daysOf(requestIds)
  if (days.length === 0) return new Set()
  const rows = await marks
    .select('number')
    .where('step', '=', 'day')
    .where('number', 'in', days)
    .execute()
  return new Set(rows.map((row) => row.number))
}

function prune(
  db: Kysely<Tables>,
  { old, settledBeforeMs }: { readonly old: readonly PageRow[]; readonly settledBeforeMs: number },
): Promise<number> {
  const accountIds = new Set(old.map((row) => row.account_id))
  const ids = old.map(({ id }) => id)
  return db.transaction().execute(async (trx) => {
    await trx.executeQuery(CompiledQuery.raw(LOCK_ACCOUNTS, [[...accountIds]]))
    // Checked again, and until the end: a late request makes its day be rolled up again, from all of its requests.
    const marks = trx.selectFrom('usage_rolled').forShare()
    const charted = chartedWithout(ids, await rolledDays(marks, ids))
    const days = daysOf(charted).map(prunedDay)
    if (days.length > 0) {
      const insert = trx.insertInto('usage_rolled').values(days)
      await insert.onConflict((conflict) => conflict.doNothing()).execute()
    }
    const { rows } = await trx.executeQuery<{ readonly requests: number }>(
      CompiledQuery.raw(PRUNE, [charted, settledBeforeMs]),
    )
    return Number(rows[0]?.requests)
  })
}
