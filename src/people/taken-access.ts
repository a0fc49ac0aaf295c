import { type Kysely, sql } from 'kysely'
import { DATABASE_MS } from '../store/is-postgres.ts'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { DbWithIds } from '../store/store.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { takeAgain } from './take-again.ts'
import { isBookedAgain, takenKey } from './taken-kinds.ts'

/** How long access counts as just taken: a database that goes back loses the newest commits. */
const KEPT_MS = HOUR_MS

/** When rows are removed from the database: long after a missing one no longer counts as lost. */
const REMOVED_AFTER_MS = 2 * KEPT_MS

/** How often all rows are read, and not only the newest and the number of all. */
const READ_ALL_MS = 60_000

/**
 * How many notes of one table the database keeps of a user or an account. An older note that is missing was replaced by
 * them.
 */
const NEWEST = 100

/** How long a replaced note is kept: the database may lose those that have replaced it. */
const REPLACED_KEPT_MS = 60_000

/** Rows from this ID on are the newest, with time for the transaction that has written one. */
const RECENT_ID = sql<string>`lpad(((extract(epoch from clock_timestamp()) - 60) * 1000000)::bigint::text, 17, '0')`

interface TakenAccessInput extends DbWithIds {
  /** Called when the database had lost that access was taken, which is taken again. */
  readonly onTakenAgain: (row: TakenAccessRow) => void
  /** Called when an operator or an owner whose removal was lost stays one, because there is no other. */
  readonly onLast: (row: TakenAccessRow) => void
  /** Called once when access can't be taken again, which is tried with each reading until it succeeds. */
  readonly onFailure: (row: TakenAccessRow, cause: unknown) => void
}

/** How long gateways may take to book their own commands again; what none has booked by then is repeated in another way. */
const BOOKED_MS = 60_000

interface Kept {
  readonly row: TakenAccessRow
  /** When it was found to be lost; null: it is not. */
  lostAtMs: number | null
  hasFailed: boolean
}

/**
 * Access that any process took from people within the last hour: members, operators, sessions and so on, of a store on
 * PostgreSQL. A database that fails over to a standby may lose its newest commits. Access that was taken by them is then
 * there again, and is taken again until that succeeds.
 */
export class TakenAccess {
  readonly #input: TakenAccessInput
  readonly #kept = new Map<string, Kept>()
  /** The IDs of the revoked admin tokens that were ever kept: a token is revoked for good. */
  readonly #revoked = new Set<unknown>()
  #readAllAtMs: number | null = null
  #reading: Promise<void> = Promise.resolve()
  /** The next reading, which has not begun. */
  #nextReading: Promise<void> | null = null

  constructor(input: TakenAccessInput) {
    this.#input = input
  }

  /**
   * Resolves when everything that was committed before the call is known, and lost removals of access are repeated or
   * their failure is reported. Rejects as the store does.
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

  /** Remembers admin tokens that this process has revoked: the next reading may reach a database that has already lost it. */
  rememberRevoked(adminTokenIds: readonly string[]): void {
    const nowMs = this.#input.clock.nowMs()
    for (const adminTokenId of adminTokenIds) {
      if (this.#revoked.has(adminTokenId)) continue
      this.#keep({
        id: `${String(nowMs * 1_000).padStart(17, '0')}-${adminTokenId}`,
        userId: '',
        tableName: 'admin_tokens',
        keyJson: JSON.stringify({ id: adminTokenId }),
        setJson: JSON.stringify({ revoked_at_ms: nowMs }),
        takenAtMs: nowMs,
      })
    }
  }

  /** Whether an admin token was revoked, also if the database has lost that. */
  hasRevoked(adminTokenId: string): boolean {
    return this.#revoked.has(adminTokenId)
  }

  async #read(): Promise<void> {
    if (!(await this.#readNew())) await this.#readAll()
    await this.#takeLostAgain()
  }

  /**
   * Reads the newest rows. Returns false if all must be read: a minute has passed, or the database has fewer than are
   * kept.
   */
  async #readNew(): Promise<boolean> {
    const { db } = this.#input
    this.#keepStored(await rowsOf(db).where('id', '>', RECENT_ID).execute())
    const { nowMs, rows } = await this.#count()
    const sinceMs = nowMs - (this.#readAllAtMs ?? Number.NEGATIVE_INFINITY)
    return sinceMs >= 0 && sinceMs < READ_ALL_MS && rows === this.#kept.size
  }

  async #readAll(): Promise<void> {
    const { db } = this.#input
    await db
      .deleteFrom('taken_access')
      .where('taken_at_ms', '<', sql<number>`${DATABASE_MS} - ${sql.lit(REMOVED_AFTER_MS)}`)
      .execute()
    const stored = await rowsOf(db).execute()
    // Noted after the rows: a process that was frozen in between takes no old row for lost.
    const { nowMs } = await this.#count()
    this.#keepStored(stored)
    const present = new Set(stored.map(({ id }) => id))
    const isReplaced = replacedBy(stored.map((row) => TAKEN_ACCESS.read(row)))
    for (const [takenId, kept] of this.#kept) {
      if (present.has(takenId)) continue
      if (kept.lostAtMs === null && isReplaced(kept.row)) {
        if (nowMs >= kept.row.takenAtMs + REPLACED_KEPT_MS) this.#kept.delete(takenId)
        continue
      }
      if (nowMs < kept.row.takenAtMs + KEPT_MS) kept.lostAtMs ??= nowMs
      // A gateway has removed the row.
      if (kept.lostAtMs === null) this.#kept.delete(takenId)
    }
    this.#readAllAtMs = nowMs
  }

  async #count(): Promise<{ readonly nowMs: number; readonly rows: number }> {
    const { now_ms, rows } = await this.#input.db
      .selectFrom('taken_access')
      .select(({ fn }) => [DATABASE_MS.as('now_ms'), fn.countAll().as('rows')])
      .executeTakeFirstOrThrow()
    return { nowMs: Number(now_ms), rows: Number(rows) }
  }

  #keepStored(stored: Awaited<ReturnType<ReturnType<typeof rowsOf>['execute']>>): void {
    // A lost one that is there was taken again by another gateway.
    for (const row of stored) this.#keep(TAKEN_ACCESS.read(row))
  }

  #keep(row: TakenAccessRow): void {
    this.#kept.set(row.id, { row, lostAtMs: null, hasFailed: false })
    if (row.tableName === 'admin_tokens') this.#revoked.add(takenKey(row)['id'])
  }

  async #takeLostAgain(): Promise<void> {
    const { db, ids, clock, onTakenAgain, onLast, onFailure } = this.#input
    const { nowMs } = await this.#count()
    const lost = [...this.#kept.values()].filter(
      ({ row, lostAtMs }) =>
        lostAtMs !== null && !(isBookedAgain(row) && nowMs < lostAtMs + BOOKED_MS),
    )
    // In the order in which it was taken.
    lost.sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
    for (const kept of lost) {
      const { row } = kept
      try {
        const became = await takeAgain({ db, ids, nowMs: clock.nowMs() }, row)
        kept.lostAtMs = null
        kept.hasFailed = false
        if (became === 'taken') onTakenAgain(row)
        if (became === 'last') onLast(row)
      } catch (cause) {
        if (!kept.hasFailed) onFailure(row, cause)
        kept.hasFailed = true
      }
    }
  }
}

/** Tells which missing notes the stored ones have replaced. */
function replacedBy(stored: readonly TakenAccessRow[]): (missing: TakenAccessRow) => boolean {
  const groupOf = ({ userId, tableName }: TakenAccessRow) => `${tableName} ${userId}`
  const noted = Map.groupBy(
    stored.filter(({ userId }) => userId !== ''),
    groupOf,
  )
  const oldest = new Map<string, string>()
  for (const [group, rows] of noted) {
    const nth = rows.map(({ id }) => id).sort()[rows.length - NEWEST]
    if (nth !== undefined) oldest.set(group, nth)
  }
  return (missing) => missing.id < (oldest.get(groupOf(missing)) ?? '')
}

function rowsOf(db: Kysely<Tables>) {
  return db.selectFrom('taken_access').selectAll()
}
