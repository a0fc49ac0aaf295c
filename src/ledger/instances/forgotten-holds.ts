import type { Kysely } from 'kysely'
import { Passes } from '../../store/passes.ts'
import type { Tables } from '../../store/schema.ts'
import { isUnsettled } from '../activity/unsettled.ts'
import type { Ledger } from '../commands.ts'

interface ForgottenHoldsInput {
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'abandonHolds'>
  /** This process, whose holds are checked. */
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
  /** From the end of a look to the beginning of the next. Default 30,000. */
  readonly intervalMs?: number
  /** The most holds that are read at once. Default 500. */
  readonly pageHoldsMax?: number
}

const INTERVAL_MS_DEFAULT = 30_000
const PAGE_HOLDS_MAX_DEFAULT = 500

/**
 * Abandons open holds of this process that the process does not know: a hold whose settle was refused, or
 * whose request was lost by a bug. Otherwise they would keep a place in flight and their credit until the
 * next start.
 *
 * The store is read before the process is asked. A hold that the store shows was known before it was
 * opened, and it stays known until its end is durable or given up, so no time has to pass to be sure. A hold
 * that has ended since the store was read stays as it is, because its row is checked again under its lock.
 */
export class ForgottenHolds {
  readonly #input: ForgottenHoldsInput
  readonly #looks: Passes
  #looking: Promise<number> | null = null

  constructor(input: ForgottenHoldsInput) {
    this.#input = input
    this.#looks = new Passes({
      intervalMs: input.intervalMs ?? INTERVAL_MS_DEFAULT,
      pass: async () => void (await this.look()),
      onFailure: input.onFailure,
    })
  }

  /** Looks now, and again and again from then on. */
  start(): void {
    this.#looks.start()
  }

  /** Checks once, or joins a check that is running; returns how many holds it has abandoned. Never rejects. */
  look(): Promise<number> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Ends the repetition; resolves when no check is running. */
  async stop(): Promise<void> {
    await this.#looks.stop()
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
    .selectFrom('all_requests')
    .select('id')
    .where(isUnsettled('open'))
    .where('instance_id', '=', instanceId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}
