import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'

/**
 * Requests whose reported costs are believed or doubted together: of one model, endpoint and kind of answer. With an empty
 * model and endpoint, all of an upstream.
 */
export interface DoubtUnit {
  readonly upstream: string
  readonly modelId: string
  readonly endpoint: string
  readonly stream: boolean
}

interface DoubtsInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** Called when this process has learned of a doubt, or of the end of one. Must not throw. */
  readonly onChange: (change: DoubtChange) => void
  /** Called when the store could not be read or written; it is tried again with the next `read`. Must not throw. */
  readonly onFailure: (cause: unknown) => void
}

/** A doubt that this process has begun or ended to act by. */
export interface DoubtChange {
  readonly unit: DoubtUnit
  readonly isOpen: boolean
}

/** How many look-ups in a row must agree before reported costs are believed again. */
export const AGREED_LOOKUPS_MIN = 100

interface Doubt {
  readonly unit: DoubtUnit
  /** The stored number of differences; null: it is not stored yet. */
  readonly differences: number | null
  /** How many agreed in a row since this process has learned of the latest difference. */
  readonly agreed: number
}

/**
 * The units in doubt, shared by all processes of a store. A difference counts at once in this process, and in others from
 * their next `read` on. A doubt ends once enough agreed in a row in one process and none has found another difference; a
 * process that starts counts from the beginning.
 */
export class Doubts {
  readonly #input: DoubtsInput
  #open: ReadonlyMap<string, Doubt> = new Map()
  /** Reads and writes of the store, one after the other. */
  #working: Promise<void> = Promise.resolve()
  #opened = 0

  constructor(input: DoubtsInput) {
    this.#input = input
  }

  /** How often this process has learned of a new doubt. */
  get opened(): number {
    return this.#opened
  }

  /** The models, endpoints and kinds of answer (or whole upstreams) that are in doubt. */
  get units(): readonly DoubtUnit[] {
    return [...this.#open.values()].map(({ unit }) => unit)
  }

  /** Whether the reported cost of a request of this unit is in doubt. Takes no time while nothing is. */
  covers(unit: DoubtUnit): boolean {
    if (this.#open.size === 0) return false
    return this.#open.has(nameOf(unit)) || this.#open.has(nameOf(wholeOf(unit.upstream)))
  }

  /** A cost of the unit differs from the provider's record. */
  differed(unit: DoubtUnit): Promise<void> {
    this.#put({ unit, differences: null, agreed: 0 })
    return this.#serially(() => this.#save(unit))
  }

  /** Notes that a reported cost, or the usage of the upstream's key, agreed with the provider's record; `agreedMin` of these in a row end a doubt. */
  async agreed(unit: DoubtUnit, agreedMin: number): Promise<void> {
    const doubt = this.#open.get(nameOf(unit))
    if (doubt === undefined) return
    this.#put({ ...doubt, agreed: doubt.agreed + 1 })
    if (doubt.agreed + 1 >= agreedMin) await this.#serially(() => this.#end(unit, agreedMin))
  }

  /** Learns the doubts of other processes, and stores doubts that could not be stored before. */
  read(): Promise<void> {
    return this.#serially(async () => {
      for (const { unit, differences } of this.#open.values()) {
        if (differences === null) await this.#save(unit)
      }
      await this.#load()
    })
  }

  async #load(): Promise<void> {
    const rows = await this.#input.db.selectFrom('lookup_doubts').selectAll().execute()
    const stored = new Map<string, Doubt>()
    for (const row of rows) {
      const unit: DoubtUnit = {
        upstream: row.upstream,
        modelId: row.model_id,
        endpoint: row.endpoint,
        stream: row.stream === 1,
      }
      const known = this.#open.get(nameOf(unit))
      const isKnown = known?.differences === row.differences
      stored.set(nameOf(unit), {
        unit,
        differences: row.differences,
        agreed: isKnown ? known.agreed : 0,
      })
    }
    const earlier = this.#open
    // A difference of the last moment is not stored yet.
    for (const [name, doubt] of earlier) if (doubt.differences === null) stored.set(name, doubt)
    this.#open = stored
    for (const [name, { unit }] of earlier) {
      if (!stored.has(name)) this.#input.onChange({ unit, isOpen: false })
    }
    for (const [name, { unit }] of stored) if (!earlier.has(name)) this.#learned(unit)
  }

  async #save(unit: DoubtUnit): Promise<void> {
    const row = await this.#input.db
      .insertInto('lookup_doubts')
      .values({ ...keyOf(unit), differences: 1, opened_at_ms: this.#input.clock.nowMs() })
      .onConflict((conflict) =>
        conflict
          .columns(['upstream', 'model_id', 'endpoint', 'stream'])
          .doUpdateSet(({ eb, ref }) => ({
            differences: eb(ref('lookup_doubts.differences'), '+', 1),
          })),
      )
      .returning('differences')
      .executeTakeFirstOrThrow()
    const agreed = this.#open.get(nameOf(unit))?.agreed ?? 0
    this.#put({ unit, differences: row.differences, agreed })
  }

  async #end(unit: DoubtUnit, agreedMin: number): Promise<void> {
    const doubt = this.#open.get(nameOf(unit))
    if (doubt === undefined || doubt.differences === null || doubt.agreed < agreedMin) return
    const { upstream, model_id, endpoint, stream } = keyOf(unit)
    // If another process has found a difference meanwhile, nothing is deleted.
    await this.#input.db
      .deleteFrom('lookup_doubts')
      .where('upstream', '=', upstream)
      .where('model_id', '=', model_id)
      .where('endpoint', '=', endpoint)
      .where('stream', '=', stream)
      .where('differences', '=', doubt.differences)
      .execute()
    await this.#load()
  }

  #put(doubt: Doubt): void {
    const name = nameOf(doubt.unit)
    const isNew = !this.#open.has(name)
    this.#open = new Map(this.#open).set(name, doubt)
    if (isNew) this.#learned(doubt.unit)
  }

  #learned(unit: DoubtUnit): void {
    this.#opened++
    this.#input.onChange({ unit, isOpen: true })
  }

  /** Never rejects. */
  #serially(work: () => Promise<void>): Promise<void> {
    this.#working = this.#working.then(work).catch((cause: unknown) => this.#input.onFailure(cause))
    return this.#working
  }
}

/** All requests of an upstream. */
export function wholeOf(upstream: string): DoubtUnit {
  return { upstream, modelId: '', endpoint: '', stream: false }
}

function keyOf({ upstream, modelId, endpoint, stream }: DoubtUnit) {
  return { upstream, model_id: modelId, endpoint, stream: stream ? 1 : 0 }
}

function nameOf({ upstream, modelId, endpoint, stream }: DoubtUnit): string {
  return `${upstream} ${modelId} ${endpoint} ${stream}`
}

/** The unit of a doubt in words, for the log and Health. */
export function showUnit({ upstream, modelId, endpoint, stream }: DoubtUnit): string {
  if (modelId === '') return `all of ${upstream}`
  return `${modelId} on ${endpoint}${stream ? ', streamed' : ''}`
}
