import { sql } from 'kysely'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { DbWithIds } from '../store/store.ts'
import { takeAgain, takenKey } from './take-again.ts'

/** How long access counts as just taken: a database that goes back loses the newest commits. */
const KEPT_MS = 60 * 60_000

/** When rows are removed from the database. A gateway that has just started takes none for new that is older than `KEPT_MS`. */
const REMOVED_AFTER_MS = 2 * KEPT_MS

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
    for (const { row } of this.#kept.values()) {
      if (row.tableName === 'admin_tokens' && takenKey(row)['id'] === adminTokenId) return true
    }
    return false
  }

  async #read(): Promise<void> {
    const rows = await this.#input.db
      .selectFrom('taken_access')
      .selectAll()
      .select(
        sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint - taken_at_ms`.as(
          'age_ms',
        ),
      )
      .execute()
    const nowMs = this.#nowMs()
    const present = new Set<string>()
    for (const row of rows) {
      present.add(row.id)
      if (this.#kept.has(row.id)) continue
      const isNew = Number(row.age_ms) < KEPT_MS
      this.#kept.set(row.id, { row: TAKEN_ACCESS.read(row), seenAtMs: nowMs, isNew, isLost: false })
    }
    for (const [takenId, kept] of this.#kept) {
      if (present.has(takenId)) continue
      kept.isLost ||= kept.isNew && nowMs < kept.seenAtMs + KEPT_MS
      // Another gateway has removed the row.
      if (!kept.isLost) this.#kept.delete(takenId)
    }
    await this.#takeLostAgain()
    await this.#removeOld(nowMs)
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
    for (const takenId of oldIds) this.#kept.delete(takenId)
  }

  #nowMs(): number {
    return this.#input.elapsedMs?.() ?? performance.now()
  }
}
