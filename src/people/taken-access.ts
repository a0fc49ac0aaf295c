import { type Kysely, sql } from 'kysely'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import { takeAgain, takenKey } from './take-again.ts'

/** How long access counts as just taken: a database that goes back loses the newest commits. */
const KEPT_MS = 60 * 60_000

/** When rows are removed from the database. A gateway that has just started takes none for new that is older than `KEPT_MS`. */
const REMOVED_AFTER_MS = 2 * KEPT_MS

/** How often all rows are read, and not only the newest and the number of all. */
const READ_ALL_MS = 60_000

/** Rows from this ID on are the newest, with time for the transaction that has written one. */
const RECENT_ID = sql<string>`lpad(((extract(epoch from clock_timestamp()) - 60) * 1000000)::bigint::text, 17, '0')`

interface TakenAccessInput extends DbWithIds {
  /** A clock that never steps. Default: that of the process. */
  readonly elapsedMs?: () => number
  /** Called when the database had lost that access was taken, which is taken again. */
  readonly onTakenAgain: (row: TakenAccessRow) => void
  /** Called when an operator whose removal was lost stays one, because the store has no other. */
  readonly onLastOperator: (row: TakenAccessRow) => void
  /** Called when access could not be taken again, which is tried again with each reading. */
  readonly onFailure: (cause: unknown) => void
}

interface Kept {
  readonly row: TakenAccessRow
  readonly seenAtMs: number
  /** Whether the row was new when this gateway first saw it. */
  readonly isNew: boolean
  isLost: boolean
}

/**
 * What was taken from people within the last hour, by any process: members, operators, sessions and so on, of a store on
 * PostgreSQL. A database that fails over to a standby may lose its newest commits. Access that was taken by them is then
 * there again, and is taken again until that succeeds.
 */
export class TakenAccess {
  readonly #input: TakenAccessInput
  readonly #kept = new Map<string, Kept>()
  /** The IDs of the revoked admin tokens among them. */
  readonly #revoked = new Set<unknown>()
  #readAllAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()
  /** The next reading, which has not begun. */
  #nextReading: Promise<void> | null = null

  constructor(input: TakenAccessInput) {
    this.#input = input
  }

  /**
   * Resolves once everything is known that was committed before the call, and lost access is taken again or its failure
   * told. Rejects as the store does.
   */
  catchUp(): Promise<void> {
    this.#nextReading ??= this.#reading
      .catch(() => {})
      .then(() => {
        // Callers that come from here on wait for the reading after this one.
        this.#nextReading = null
        this.#reading = this.#read()
        return this.#reading
      })
    return this.#nextReading
  }

  /** Whether an admin token was revoked, also if the database has lost that. */
  hasRevoked(adminTokenId: string): boolean {
    return this.#revoked.has(adminTokenId)
  }

  async #read(): Promise<void> {
    const nowMs = this.#nowMs()
    const isDue = nowMs >= this.#readAllAtMs + READ_ALL_MS
    if (isDue || !(await this.#readNew(nowMs))) await this.#readAll(nowMs)
    await this.#takeLostAgain()
    await this.#removeOld(nowMs)
  }

  /** Reads the newest rows, and returns whether the database then has as many as are kept: none is missing. */
  async #readNew(nowMs: number): Promise<boolean> {
    const { db } = this.#input
    this.#keep(await rowsOf(db).where('id', '>', RECENT_ID).execute(), nowMs)
    const counted = await db
      .selectFrom('taken_access')
      .select(({ fn }) => fn.countAll().as('rows'))
      .executeTakeFirst()
    return Number(counted?.rows) === this.#kept.size
  }

  async #readAll(nowMs: number): Promise<void> {
    const rows = await rowsOf(this.#input.db).execute()
    this.#keep(rows, nowMs)
    const present = new Set(rows.map(({ id }) => id))
    for (const [takenId, kept] of this.#kept) {
      if (present.has(takenId)) continue
      kept.isLost ||= kept.isNew && nowMs < kept.seenAtMs + KEPT_MS
      // Another gateway has removed the row.
      if (!kept.isLost) this.#forget(takenId)
    }
    this.#readAllAtMs = nowMs
  }

  #keep(rows: readonly AgedRow[], nowMs: number): void {
    for (const { age_ms, ...stored } of rows) {
      if (this.#kept.has(stored.id)) continue
      const row = TAKEN_ACCESS.read(stored)
      const isNew = Number(age_ms) < KEPT_MS
      this.#kept.set(row.id, { row, seenAtMs: nowMs, isNew, isLost: false })
      if (row.tableName === 'admin_tokens') this.#revoked.add(takenKey(row)['id'])
    }
  }

  #forget(takenId: string): void {
    const kept = this.#kept.get(takenId)
    if (kept === undefined) return
    this.#kept.delete(takenId)
    if (kept.row.tableName === 'admin_tokens') this.#revoked.delete(takenKey(kept.row)['id'])
  }

  async #takeLostAgain(): Promise<void> {
    const { db, ids, clock, onTakenAgain, onLastOperator, onFailure } = this.#input
    const lost = [...this.#kept.values()].filter(({ isLost }) => isLost)
    // In the order in which it was taken.
    lost.sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
    for (const kept of lost) {
      const { row } = kept
      try {
        const became = await takeAgain({ db, ids, nowMs: clock.nowMs() }, row)
        kept.isLost = false
        if (became === 'taken') onTakenAgain(row)
        if (became === 'lastOperator') onLastOperator(row)
      } catch (cause) {
        onFailure(cause)
      }
    }
  }

  async #removeOld(nowMs: number): Promise<void> {
    const old = [...this.#kept].filter(
      ([, { seenAtMs, isLost }]) => !isLost && nowMs >= seenAtMs + REMOVED_AFTER_MS,
    )
    if (old.length === 0) return
    const oldIds = old.map(([takenId]) => takenId)
    await this.#input.db.deleteFrom('taken_access').where('id', 'in', oldIds).execute()
    for (const takenId of oldIds) this.#forget(takenId)
  }

  #nowMs(): number {
    return this.#input.elapsedMs?.() ?? performance.now()
  }
}

function rowsOf(db: Kysely<Tables>) {
  return db
    .selectFrom('taken_access')
    .selectAll()
    .select(
      sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint - taken_at_ms`.as(
        'age_ms',
      ),
    )
}

type AgedRow = Awaited<ReturnType<ReturnType<typeof rowsOf>['execute']>>[number]
