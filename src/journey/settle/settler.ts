import type { HoldLedger, Settled, SettleInput } from '../../ledger/ledger.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'

interface SettlerInput {
  readonly ledger: HoldLedger
  /** How long a whole answer waits for its settle to be durable before it is delivered all the same. */
  readonly waitMs: number
  /**
   * Told of each failed try. Where the store was away it is tried again until the store answers; where
   * the store refused, which is a bug, the hold is forgotten, and ended as one of a dead process.
   */
  readonly onFailure: (requestId: string, cause: unknown) => void
  /** Told of each settle once it is durable, before who waits for it is. Must not throw. */
  readonly onSettled: (settled: Settled, input: SettleInput) => void
}

const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 10_000

/**
 * Brings settles to the ledger until it answers. A settle is asked for by its hold's id, so that asking
 * again is harmless; the hold stays reserved until it is done.
 */
export class Settler {
  readonly #ledger: HoldLedger
  readonly #waitMs: number
  readonly #onFailure: SettlerInput['onFailure']
  readonly #onSettled: SettlerInput['onSettled']
  readonly #pending = new Map<string, Promise<Settled | null>>()
  /** Holds that are to be abandoned until their settle is asked for, which does the same. */
  readonly #abandoning = new Set<string>()

  constructor({ ledger, waitMs, onFailure, onSettled }: SettlerInput) {
    this.#ledger = ledger
    this.#waitMs = waitMs
    this.#onFailure = onFailure
    this.#onSettled = onSettled
  }

  /**
   * Queues the settle in this tick; resolves when it is durable, however long the store takes. Never
   * rejects: null where the store refused.
   */
  settle(input: SettleInput): Promise<Settled | null> {
    this.#abandoning.delete(input.requestId)
    const settled = this.#ledger.settle(input).catch((cause: unknown) => this.#again(input, cause))
    this.#pending.set(input.requestId, settled)
    void settled.then((verdict) => {
      this.#pending.delete(input.requestId)
      if (verdict !== null) this.#onSettled(verdict, input)
    })
    return settled
  }

  /**
   * Queues, in this tick, that a hold's place in flight is free before its attempt has ended; its settle
   * follows.
   */
  abandon(requestId: string): void {
    this.#abandoning.add(requestId)
    void this.#abandon(requestId)
  }

  /** As `settle`, but waits only for a while: null then, with the settle still under way. */
  async settleInTime(input: SettleInput): Promise<Settled | null> {
    let timer: NodeJS.Timeout | undefined
    const outOfTime = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, this.#waitMs, null)
    })
    try {
      return await Promise.race([this.settle(input), outOfTime])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Whether the settle of a request is under way, however long the store takes. */
  isPending(requestId: string): boolean {
    return this.#pending.has(requestId)
  }

  /** Resolves when no settle is under way. */
  async drained(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled([...this.#pending.values()])
  }

  async #abandon(requestId: string): Promise<void> {
    for (let delayMs = RETRY_FIRST_MS; this.#abandoning.has(requestId); delayMs *= 2) {
      try {
        await this.#ledger.abandon(requestId)
        this.#abandoning.delete(requestId)
      } catch {
        await new Promise((resolve) => setTimeout(resolve, Math.min(delayMs, RETRY_MOST_MS)))
      }
    }
  }

  async #again(input: SettleInput, firstCause: unknown): Promise<Settled | null> {
    let cause = firstCause
    for (let delayMs = RETRY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MOST_MS)) {
      this.#onFailure(input.requestId, cause)
      if (!(cause instanceof StoreUnavailable)) return null
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      try {
        return await this.#ledger.settle(input)
      } catch (next) {
        cause = next
      }
    }
  }
}
