/** What one look at the heartbeats of other instances saw. */
interface HeartbeatSighting {
  /** The database's time. */
  readonly databaseMs: number
  /** This process's time, of a clock that never steps. */
  readonly elapsedMs: number
  /** By instance, the latest heartbeat; null: it never had one. */
  readonly heartbeats: ReadonlyMap<string, number | null>
}

interface Still {
  readonly heartbeatMs: number | null
  readonly sinceMs: number
}

const DEAD_AFTER_MS_DEFAULT = 30_000

/** Looks further apart than this don't tell what happened between them. */
const GAP_MS_MAX = 12_000

/**
 * Tells which instances are dead: those whose heartbeat this process itself has watched stand still, by
 * the database's time and without a gap. How old a heartbeat is says nothing: the database may have
 * been away, and then nobody's heart could beat.
 */
export class HeartbeatWatch {
  readonly #deadAfterMs: number
  readonly #watched = new Map<string, Still>()
  #latest: Pick<HeartbeatSighting, 'databaseMs' | 'elapsedMs'> | null = null

  /** `deadAfterMs`: for how long a heartbeat must stand still. Default 30,000. */
  constructor({ deadAfterMs = DEAD_AFTER_MS_DEFAULT }: { readonly deadAfterMs?: number } = {}) {
    this.#deadAfterMs = deadAfterMs
  }

  /** The instances that are dead as of this look. */
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

  /** Forgets what was watched: the database did not answer. */
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
