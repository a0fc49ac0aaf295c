import type { Kysely } from 'kysely'
import { isStanding } from '../ledger/activity/unsettled.ts'
import type { Ledger } from '../ledger/commands.ts'
import type { SettleStandingInput } from '../ledger/ledger.ts'
import { Passes } from '../store/passes.ts'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import type { Doubts, DoubtUnit } from './doubts.ts'

interface StandingCostsInput {
  /** The store whose requests become final. */
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'settleStanding'>
  readonly doubts: Pick<Doubts, 'read' | 'opened'>
  /** Whether all reported costs of a unit are looked up. */
  readonly isDoubted: (unit: DoubtUnit) => boolean
  /** The clock of the times in the store's rows. */
  readonly clock: Clock
  readonly instanceId: string
  /** From the end of an attempt until its reported cost is final. */
  readonly standsAfterMs: number
  /** Called with the number of requests that became final. Must not throw. */
  readonly onStood: (requests: number) => void
  /** Called with the number of requests that are looked up after all. Must not throw. */
  readonly onRecalled: (requests: number) => void
  /** Called when a pass failed; another follows. Must not throw. */
  readonly onFailure: (cause: unknown) => void
  /** Default 250. */
  readonly pageRequests?: number
}

interface Standing extends DoubtUnit {
  readonly requestId: string
  readonly endedAtMs: number
}

const PAGE_REQUESTS_DEFAULT = 250
const INTERVAL_MS_MAX = 5_000
const INTERVAL_MS_MIN = 500
// A pass of that many parts of the time makes few requests wait notably longer.
const PASSES_IN_TIME = 10
// Requests of another process, which is gone, wait for half as long again.
const OTHERS_EXTRA_WAIT_SHARE = 0.5

/**
 * Makes reported costs that need no look-up final, page by page while requests are served. It keeps nothing in memory:
 * the rows show which requests are due, so a crash only delays it. If a unit comes into doubt, its requests that are
 * not final yet are looked up after all.
 */
export class StandingCosts {
  readonly #input: StandingCostsInput
  readonly #passes: Passes
  /**
   * The number of doubts up to which all waiting requests were checked. Requests that become due are checked once more.
   */
  #recalledUpTo = 0

  constructor(input: StandingCostsInput) {
    this.#input = input
    const intervalMs = input.standsAfterMs / PASSES_IN_TIME
    this.#passes = new Passes({
      intervalMs: Math.max(INTERVAL_MS_MIN, Math.min(INTERVAL_MS_MAX, intervalMs)),
      pass: () => this.pass(),
      onFailure: input.onFailure,
    })
  }

  /** Begins a pass at once, and another soon after each. */
  start(): void {
    this.#passes.start()
  }

  /** Begins the next pass now: a doubt was opened. */
  wake(): void {
    this.#passes.wake()
  }

  /** Ends with the current page. */
  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** Settles all requests that are due now. Rejects if the store fails. */
  async pass(): Promise<void> {
    const { doubts } = this.#input
    await doubts.read()
    const { opened } = doubts
    if (this.#recalledUpTo !== opened) {
      await this.#walk('all')
      if (!this.#passes.stopped) this.#recalledUpTo = opened
    }
    await this.#walk('due')
  }

  async #walk(which: 'all' | 'due'): Promise<void> {
    const limit = this.#input.pageRequests ?? PAGE_REQUESTS_DEFAULT
    for (let after: string | null = ''; after !== null && !this.#passes.stopped; ) {
      const beganAtMs = performance.now()
      const page: readonly Standing[] = await this.#read({ which, after, limit })
      await this.#settle(page)
      after = page.length < limit ? null : (page.at(-1)?.requestId ?? null)
      // The store is free for others for as long as it was used.
      if (after !== null) await this.#passes.wait(performance.now() - beganAtMs)
    }
  }

  async #settle(page: readonly Standing[]): Promise<void> {
    const { isDoubted, clock, standsAfterMs, onStood, onRecalled } = this.#input
    const dueAtMs = clock.nowMs() - standsAfterMs
    const recalled: string[] = []
    const due: string[] = []
    for (const request of page) {
      if (isDoubted(request)) recalled.push(request.requestId)
      else if (request.endedAtMs <= dueAtMs) due.push(request.requestId)
    }
    await this.#submit({ requestIds: recalled, to: 'lookUp' }, onRecalled)
    await this.#submit({ requestIds: due, to: 'final' }, onStood)
  }

  async #submit(input: SettleStandingInput, onChanged: (requests: number) => void): Promise<void> {
    if (input.requestIds.length === 0) return
    const changed = await this.#input.ledger.settleStanding(input)
    if (changed > 0) onChanged(changed)
  }

  /**
   * In the order of IDs, by the index of provisional requests whose reported cost needs no look-up; those that are due
   * began long enough ago.
   */
  async #read({
    which,
    after,
    limit,
  }: {
    readonly which: 'all' | 'due'
    readonly after: string
    readonly limit: number
  }): Promise<readonly Standing[]> {
    const { db, clock, standsAfterMs, instanceId } = this.#input
    let query = db
      .selectFrom('requests')
      .select(['id', 'upstream', 'model_id', 'endpoint', 'stream', 'opened_at_ms', 'ended_at_ms'])
      .where(isStanding)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
    if (which === 'due') {
      const endedBy = (timeMs: number) => firstIdOf({ prefix: 'req', timeMs })
      const dueAtMs = clock.nowMs() - standsAfterMs
      query = query
        .where('id', '<=', endedBy(dueAtMs))
        .where('ended_at_ms', '<=', dueAtMs)
        .where(({ eb, or }) =>
          or([
            eb('instance_id', '=', instanceId),
            eb('ended_at_ms', '<=', dueAtMs - OTHERS_EXTRA_WAIT_SHARE * standsAfterMs),
          ]),
        )
    }
    const rows = await query.execute()
    return rows.map((row) => ({
      requestId: row.id,
      upstream: row.upstream,
      modelId: row.model_id,
      endpoint: row.endpoint,
      stream: row.stream === 1,
      endedAtMs: row.ended_at_ms ?? row.opened_at_ms,
    }))
  }
}
