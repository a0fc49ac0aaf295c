import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import type { Ledger } from '../ledger.ts'

export interface ForgottenHoldsInput {
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'abandonHolds'>
  /** Whose holds are looked at: this process. */
  readonly instanceId: string
  /**
   * Whether anything in this process will still end the hold of a request. True from before its hold is
   * opened until its end is durable, without a gap.
   */
  readonly isKnown: (requestId: string) => boolean
  /** Called with the number of holds after each look that ended some. */
  readonly onAbandoned: (abandoned: number) => void
  /** Called when the store did not answer; the next look tries again. */
  readonly onFailure: (cause: unknown) => void
  /** The most holds that are read at once. Default 500. */
  readonly pageHoldsMax?: number
}

const LOOK_INTERVAL_MS = 30_000
const PAGE_HOLDS_MAX_DEFAULT = 500

/**
 * Ends the open holds under this process's own name that it knows nothing of any more, as those of a
 * dead one: a hold whose settle was refused, or whose request was lost by a bug. Without it they would
 * keep a place in flight and their credit until the next start.
 *
 * What is known is asked after the store was read, so that no time has to pass to be sure: a hold that
 * the store shows was known before it could be there, and whoever knew it has forgotten it only once
 * its end was durable or given up. A hold that has ended since the store was read is left alone, because
 * its row is looked at again under its lock.
 */
export class ForgottenHolds {
  readonly #input: ForgottenHoldsInput
  #timer: NodeJS.Timeout | null = null
  #looking: Promise<number> | null = null

  constructor(input: ForgottenHoldsInput) {
    this.#input = input
  }

  /** Looks every 30 seconds from now on. */
  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS)
    this.#timer.unref()
  }

  /** One look; answers how many holds it has ended. Where one is under way, that one. Never rejects. */
  look(): Promise<number> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Looks no more, and resolves once the look under way has ended. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#looking
  }

  async #look(): Promise<number> {
    const { ledger, instanceId, isKnown, onAbandoned, onFailure } = this.#input
    const limit = this.#input.pageHoldsMax ?? PAGE_HOLDS_MAX_DEFAULT
    let abandoned = 0
    try {
      for (let after: string | undefined = ''; after !== undefined; ) {
        const page = await openHoldsOf(this.#input.db, { instanceId, after, limit })
        const requestIds = page.filter((requestId) => !isKnown(requestId))
        if (requestIds.length > 0) abandoned += await ledger.abandonHolds(requestIds)
        after = page.length < limit ? undefined : page.at(-1)
      }
    } catch (cause) {
      onFailure(cause)
    }
    if (abandoned > 0) onAbandoned(abandoned)
    return abandoned
  }
}

/** The requests of an instance whose holds are open, in the order of their ids, by the index. */
async function openHoldsOf(
  db: Kysely<Tables>,
  {
    instanceId,
    after,
    limit,
  }: {
    readonly instanceId: string
    /** The request before the page; empty: from the start. */
    readonly after: string
    readonly limit: number
  },
): Promise<string[]> {
  const rows = await db
    .selectFrom('requests')
    .select('id')
    // A literal: the index covers unsettled states alone, which SQLite can't see of a parameter.
    .where('state', '=', sql.lit('open'))
    .where('instance_id', '=', instanceId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
