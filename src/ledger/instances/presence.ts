import { type Kysely, sql } from 'kysely'
import { DATABASE_MS } from '../../store/is-postgres.ts'
import { PROGRAM_SCHEMA } from '../../store/migrations/migrations.ts'
import type { Tables } from '../../store/schema.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { isUnsettled } from '../activity/unsettled.ts'
import type { Ledger } from '../commands.ts'

interface PresenceInput {
  /** The PostgreSQL store that the instances share. */
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'abandonInstance'>
  /** An id of the prefix `inst`, new at each start. */
  readonly instanceId: string
  /** Called for each dead instance that had open holds, with their number. */
  readonly onAbandoned: (instanceId: string, abandoned: number) => void
  /** Asked each second, once `start` has been called: whether a heartbeat is due. */
  readonly isDue?: () => boolean
  /** Called after each heartbeat that the database stored. */
  readonly onBeat?: (beatAtMs: number) => void
  /** Called when the database did not answer. */
  readonly onFailure: (cause: unknown) => void
  /** For how long another instance must write no heartbeat, while this one checks, to count as dead. Default 30,000. */
  readonly deadAfterMs?: number
  /** A clock that never steps, in milliseconds. Default the process's own. */
  readonly elapsedMs?: () => number
}

/** How often to ask whether a heartbeat is due. */
export const BEAT_LOOK_MS = 1_000

/** A heartbeat that takes longer has failed, unless it is stored later. */
const BEAT_MS_MAX = 5_000

// Less than the time after which others take this instance for dead, so that it stops first.
const ALIVE_MS = 20_000

/**
 * This process among those that share a PostgreSQL store: it writes heartbeats, watches those of the others, and
 * abandons the holds of dead instances. All by the database's time.
 */
export class Presence {
  readonly #input: PresenceInput
  readonly #elapsedMs: () => number
  readonly #watch: HeartbeatWatch
  #aliveUntilMs = Number.NEGATIVE_INFINITY
  /** The database's time less this process's, as of the latest heartbeat. */
  #databaseAheadMs = Number.NaN
  #timer: NodeJS.Timeout | null = null
  #beating: Promise<void> = Promise.resolve()
  #closed = false

  constructor(input: PresenceInput) {
    this.#input = input
    this.#watch = new HeartbeatWatch(input)
    this.#elapsedMs = input.elapsedMs ?? (() => performance.now())
  }

  /** Registers the instance and starts its heartbeats. Rejects if the database does not answer. */
  async start(): Promise<void> {
    await this.#heartbeat()
    this.#beatLater()
  }

  /**
   * Whether others can't have taken this instance for dead. A hold of an instance that may be dead may
   * have been abandoned: nothing is forwarded on it.
   */
  isAlive(): boolean {
    return this.#elapsedMs() < this.#aliveUntilMs
  }

  /** The database's time, independent of this machine's clock. To be called after `start`. */
  nowMs(): number {
    return Math.floor(this.#elapsedMs() + this.#databaseAheadMs)
  }

  /** Writes one heartbeat, checks those of the others, and abandons the holds of dead instances. Never rejects. */
  async beat(): Promise<void> {
    try {
      await this.#heartbeatInTime()
      for (const instanceId of this.#watch.see(await this.#look())) {
        const abandoned = await this.#input.ledger.abandonInstance(instanceId)
        if (abandoned > 0) this.#input.onAbandoned(instanceId, abandoned)
        await this.#stopped(instanceId)
      }
    } catch (cause) {
      this.#watch.lose()
      this.#input.onFailure(cause)
    }
  }

  /** Ends the heartbeats, and records that the instance has stopped. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#beating
    try {
      await this.#stopped(this.#input.instanceId)
    } catch (cause) {
      this.#input.onFailure(cause)
    }
  }

  #beatLater(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      const { isDue = () => true } = this.#input
      this.#beating = (isDue() ? this.beat() : Promise.resolve()).then(() => this.#beatLater())
    }, BEAT_LOOK_MS)
    this.#timer.unref()
  }

  /** Rejects after five seconds of silence. A heartbeat that the database stores later still counts. */
  async #heartbeatInTime(): Promise<void> {
    const silence = Promise.withResolvers<never>()
    const timer = setTimeout(
      () =>
        silence.reject(new StoreUnavailable('the database does not answer', { fault: 'silent' })),
      BEAT_MS_MAX,
    )
    try {
      const beat = this.#heartbeat()
      // A late failure is of a heartbeat that has failed already.
      beat.catch(() => {})
      await Promise.race([beat, silence.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  async #heartbeat(): Promise<void> {
    const askedAtMs = this.#elapsedMs()
    const { database_ms } = await this.#input.db
      .insertInto('instances')
      .values({
        id: this.#input.instanceId,
        started_at_ms: DATABASE_MS,
        heartbeat_at_ms: DATABASE_MS,
        stopped_at_ms: null,
        program_schema: PROGRAM_SCHEMA,
      })
      // An instance that was wrongly taken for dead is back with its next heartbeat. Each heartbeat differs from
      // the one before, also after a step of the clock, because the others watch for a change.
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({
          heartbeat_at_ms: sql<number>`greatest(instances.heartbeat_at_ms + 1, ${DATABASE_MS})`,
          stopped_at_ms: null,
        }),
      )
      .returning(DATABASE_MS.as('database_ms'))
      .executeTakeFirstOrThrow()
    // From when it was answered: late by the way back, and never ahead.
    this.#databaseAheadMs = database_ms - this.#elapsedMs()
    // From when it was asked: the others saw it at that moment or later.
    this.#aliveUntilMs = askedAtMs + ALIVE_MS
    this.#input.onBeat?.(database_ms)
  }

  async #look() {
    const { db, instanceId } = this.#input
    const instances = await db
      .selectFrom('instances')
      .select(['id', 'heartbeat_at_ms'])
      .where('stopped_at_ms', 'is', null)
      .where('id', '!=', instanceId)
      .execute()
    // Holders that have stopped or were never recorded: their holds must end too.
    const holders = await db
      .selectFrom('all_requests')
      .leftJoin('instances', 'instances.id', 'all_requests.instance_id')
      .select(['all_requests.instance_id as id', 'instances.heartbeat_at_ms'])
      .distinct()
      .where(isUnsettled('open'))
      .where('all_requests.instance_id', '!=', instanceId)
      .execute()
    const { now } = await db.selectNoFrom(DATABASE_MS.as('now')).executeTakeFirstOrThrow()
    return {
      databaseMs: now,
      elapsedMs: this.#elapsedMs(),
      heartbeats: new Map(
        [...instances, ...holders].map(({ id, heartbeat_at_ms }) => [id, heartbeat_at_ms]),
      ),
    }
  }

  async #stopped(instanceId: string): Promise<void> {
    await this.#input.db
      .updateTable('instances')
      .set({ stopped_at_ms: DATABASE_MS })
      .where('id', '=', instanceId)
      .where('stopped_at_ms', 'is', null)
      .execute()
  }
}

/** The heartbeats of other instances at one check. */
interface HeartbeatSighting {
  /** The database's time. */
  readonly databaseMs: number
  /** This process's time, of a clock that never steps. */
  readonly elapsedMs: number
  /** By instance, the latest heartbeat; null: it never had one. */
  readonly heartbeats: ReadonlyMap<string, number | null>
}

const DEAD_AFTER_MS_DEFAULT = 30_000

/** If two checks are further apart than this, a heartbeat may have been missed, and the watch starts again. */
const GAP_MS_MAX = 12_000

/**
 * Finds the dead instances: those that wrote no new heartbeat while this process checked, by the database's time and
 * without a pause between the checks. The age of a heartbeat alone proves nothing: while the database is down, no
 * instance can write one.
 */
export class HeartbeatWatch {
  readonly #deadAfterMs: number
  readonly #watched = new Map<
    string,
    { readonly heartbeatMs: number | null; readonly sinceMs: number }
  >()
  #latest: Pick<HeartbeatSighting, 'databaseMs' | 'elapsedMs'> | null = null

  /** `deadAfterMs`: for how long an instance must write no heartbeat. Default 30,000. */
  constructor({ deadAfterMs = DEAD_AFTER_MS_DEFAULT }: { readonly deadAfterMs?: number } = {}) {
    this.#deadAfterMs = deadAfterMs
  }

  /** The instances that count as dead at this check. */
  see({ databaseMs, elapsedMs, heartbeats }: HeartbeatSighting): string[] {
    if (!this.#isUnbroken({ databaseMs, elapsedMs })) this.#watched.clear()
    this.#latest = { databaseMs, elapsedMs }
    for (const instanceId of this.#watched.keys()) {
      if (!heartbeats.has(instanceId)) this.#watched.delete(instanceId)
    }
    const dead: string[] = []
    for (const [instanceId, heartbeatMs] of heartbeats) {
      const still = this.#watched.get(instanceId)
      if (still === undefined || still.heartbeatMs !== heartbeatMs) {
        this.#watched.set(instanceId, { heartbeatMs, sinceMs: databaseMs })
      } else if (databaseMs - still.sinceMs >= this.#deadAfterMs) dead.push(instanceId)
    }
    return dead
  }

  /** Restarts the watch: the database did not answer. */
  lose(): void {
    this.#latest = null
  }

  #isUnbroken(now: Pick<HeartbeatSighting, 'databaseMs' | 'elapsedMs'>): boolean {
    if (this.#latest === null) return false
    const databaseStepMs = now.databaseMs - this.#latest.databaseMs
    const elapsedStepMs = now.elapsedMs - this.#latest.elapsedMs
    return databaseStepMs >= 0 && databaseStepMs <= GAP_MS_MAX && elapsedStepMs <= GAP_MS_MAX
  }
}
