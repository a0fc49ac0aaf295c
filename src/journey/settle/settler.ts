import type { HoldLedger, Settled, SettleInput } from '../../ledger/ledger.ts'
import { CommandImpossible, StoreUnavailable, storeFaultOf } from '../../store/store-failure.ts'

/** A settle, with the upstream that the request was sent to and the fee that it was held with. */
export interface HeldSettle extends SettleInput {
  readonly upstream: string
  /** The platform fee, in hundredths of a percent. */
  readonly feeBasisPoints: number
}

interface SettlerParts {
  readonly ledger: HoldLedger
  /** How long an answer that is not streamed waits for its settle to be durable. Then it is delivered anyway. */
  readonly waitMs: number
  /**
   * Called after each failed try while the store is down, and once if the store refuses the settle. The settle is
   * tried again until the store accepts it. If the store refuses it for a quarter of an hour, or a rule refuses it,
   * it is left to the reconciler, and ends like a hold of a dead process.
   */
  readonly onFailure: (requestId: string, cause: unknown) => void
  /** Called when a settle is durable, before its promise resolves. Must not throw. */
  readonly onSettled: (settled: Settled, input: HeldSettle) => void
}

const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 10_000
const REFUSED_RETRY_MS = 10_000
const REFUSED_TRIES_MAX = 90

/**
 * Sends settles to the ledger until it answers. A settle names its hold, so repeating it is harmless. The credit stays
 * held until the settle is durable.
 */
export class Settler {
  readonly #parts: SettlerParts
  readonly #pending = new Map<string, Promise<Settled | null>>()
  /** Holds whose abandoning is retried until their settle is queued, which has the same effect. */
  readonly #abandoning = new Set<string>()
  /** Answers that wait for their settle, in the order of their deadlines. */
  readonly #waits = new Set<{
    readonly untilMs: number
    readonly resolve: (outOfTime: null) => void
  }>()
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  /** Ends the wait of `stop`; null: nothing waits. */
  #endWait: (() => void) | null = null

  constructor(parts: SettlerParts) {
    this.#parts = parts
  }

  /**
   * Queues the settle in this tick; resolves when it is durable, with no time limit. Never rejects: null if it was
   * given up.
   */
  settle(input: HeldSettle): Promise<Settled | null> {
    this.#abandoning.delete(input.requestId)
    const settled = this.#parts.ledger
      .settle(input)
      .catch((cause: unknown) => this.#again(input, cause))
    this.#pending.set(input.requestId, settled)
    void settled.then((verdict) => {
      this.#pending.delete(input.requestId)
      if (verdict !== null) this.#parts.onSettled(verdict, input)
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

  /** Like `settle`, but resolves with null after `waitMs`; the settle continues. */
  settleInTime(input: HeldSettle): Promise<Settled | null> {
    return new Promise((resolve) => {
      const wait = { untilMs: performance.now() + this.#parts.waitMs, resolve }
      this.#waits.add(wait)
      if (this.#timer === null) this.#startTimer(this.#parts.waitMs)
      void this.settle(input).then((settled) => {
        this.#waits.delete(wait)
        resolve(settled)
      })
    })
  }

  /** Whether the settle of a request is not durable yet. */
  isPending(requestId: string): boolean {
    return this.#pending.has(requestId)
  }

  /** Resolves when all settles are durable or given up. */
  async drained(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled([...this.#pending.values()])
  }

  /**
   * Waits so long for settles to be durable, unless the store's file is moved away: operators put it back after the stop.
   * After that none is tried again. Returns the requests whose settles are left, which end like the holds of a dead process.
   */
  async stop(waitMs: number): Promise<readonly string[]> {
    const isOver = Promise.withResolvers<void>()
    const timer = setTimeout(isOver.resolve, waitMs)
    this.#endWait = isOver.resolve
    await Promise.race([this.drained(), isOver.promise])
    clearTimeout(timer)
    this.#isStopped = true
    return [...this.#pending.keys()]
  }

  // One timer for all waits, since nearly all of them are short.
  #startTimer(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null
      const nowMs = performance.now()
      for (const wait of this.#waits) {
        if (wait.untilMs > nowMs) {
          this.#startTimer(wait.untilMs - nowMs)
          break
        }
        this.#waits.delete(wait)
        wait.resolve(null)
      }
    }, delayMs)
    this.#timer.unref()
  }

  async #abandon(requestId: string): Promise<void> {
    for (let delayMs = RETRY_FIRST_MS; this.#abandoning.has(requestId); delayMs *= 2) {
      try {
        await this.#parts.ledger.abandon(requestId)
        this.#abandoning.delete(requestId)
      } catch {
        await pause(Math.min(delayMs, RETRY_MOST_MS))
        if (this.#isStopped) return
      }
    }
  }

  // No state of the store may make a durable hold free: only a rule can.
  async #again(input: SettleInput, firstCause: unknown): Promise<Settled | null> {
    let cause = firstCause
    let refusals = 0
    for (let delayMs = RETRY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MOST_MS)) {
      const isDown = cause instanceof StoreUnavailable
      if (!isDown) refusals++
      if (isDown || refusals === 1) this.#parts.onFailure(input.requestId, cause)
      if (cause instanceof CommandImpossible || refusals > REFUSED_TRIES_MAX) return null
      await pause(isDown ? delayMs : REFUSED_RETRY_MS)
      if (this.#isStopped) return null
      try {
        return await this.#parts.ledger.settle(input)
      } catch (next) {
        cause = next
        if (storeFaultOf(cause) === 'moved') this.#endWait?.()
      }
    }
  }
}

/** It keeps no process alive: a process that stops waits for its settles anyway. */
function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs).unref())
}
