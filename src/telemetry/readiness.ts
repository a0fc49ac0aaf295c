import type { ReadinessCheck } from '../http/health.ts'
import type { Clock } from '../vocabulary/clock.ts'

interface ReadinessInput {
  readonly clock: Clock
  /** Age past which prices are too old to run a request on. */
  readonly pricesStaleAfterMs: number
}

/** What readiness asks the parts of the process at each question. None of it may cost anything. */
export interface ReadinessSources {
  readonly isDraining: () => boolean
  /** Whether this instance may open holds: false while others may have taken it for dead. */
  readonly isAlive: () => boolean
  /** When the youngest prices were asked for; null: there never were any. */
  readonly pricesRefreshedAtMs: () => number | null
}

/** Who was refused by the provider: a request of a client's, or the gateway's own for its catalog. */
export type AccountAsker = 'request' | 'catalog'

// Three heartbeats: one may be late, and one may fail.
const STORE_SILENCE_MS_MAX = 15_000

// Whoever sends requests elsewhere for it would never see that it is over: after this long without
// another refusal it is worth a try.
const REFUSAL_BELIEVED_MS = 30_000

/**
 * Whether it is worth sending requests here, by what the process happens to know: heartbeats and commits
 * tell of the store, refreshes of the prices, answers of the provider about its account.
 */
export class Readiness {
  readonly #clock: Clock
  readonly #pricesStaleAfterMs: number
  #storeAnsweredAtMs: number
  #storeFailed = false
  readonly #refusedAtMs: Record<AccountAsker, number | null> = { request: null, catalog: null }

  constructor({ clock, pricesStaleAfterMs }: ReadinessInput) {
    this.#clock = clock
    this.#pricesStaleAfterMs = pricesStaleAfterMs
    this.#storeAnsweredAtMs = clock.nowMs()
  }

  /** The store has answered just now, whatever the question was. */
  storeAnswered(): void {
    this.#storeAnsweredAtMs = this.#clock.nowMs()
    this.#storeFailed = false
  }

  /** The store has failed just now; it counts as away until it answers. */
  storeFailed(): void {
    this.#storeFailed = true
  }

  /** The provider refused our account. Answers whether that is news. */
  accountRefused(asker: AccountAsker): boolean {
    const isNews = !this.isAccountRefused
    this.#refusedAtMs[asker] = this.#clock.nowMs()
    return isNews
  }

  /**
   * The provider did what was asked of our account. Answers whether that is news. A catalog that
   * anybody may read says nothing of requests, so each asker speaks for itself.
   */
  accountAccepted(asker: AccountAsker): boolean {
    if (this.#refusedAtMs[asker] === null) return false
    this.#refusedAtMs[asker] = null
    return !this.isAccountRefused
  }

  /** Whether the last word of the provider to any asker was a refusal, however long ago. */
  get isAccountRefused(): boolean {
    return this.#refusedAtMs.request !== null || this.#refusedAtMs.catalog !== null
  }

  /** Every check, in the order that an operator would look at them. */
  checks(sources: ReadinessSources): readonly ReadinessCheck[] {
    return [
      { name: 'serving', fault: sources.isDraining() ? DRAINING : null },
      { name: 'store', fault: this.#storeFault(sources) },
      { name: 'prices', fault: this.#pricesFault(sources.pricesRefreshedAtMs()) },
      { name: 'upstream_account', fault: this.#accountFault() },
    ]
  }

  #storeFault({ isAlive }: ReadinessSources): string | null {
    if (this.#storeFailed) return STORE_FAILED
    const silentMs = this.#clock.nowMs() - this.#storeAnsweredAtMs
    if (silentMs > STORE_SILENCE_MS_MAX) {
      return `The store has not answered for ${Math.floor(silentMs / 1_000)} seconds. ${CHECK_STORE}`
    }
    return isAlive() ? null : TAKEN_FOR_DEAD
  }

  #pricesFault(refreshedAtMs: number | null): string | null {
    if (refreshedAtMs === null) return `No prices were ever loaded. ${CHECK_REFRESH}`
    const ageMs = this.#clock.nowMs() - refreshedAtMs
    if (ageMs <= this.#pricesStaleAfterMs) return null
    return `The prices are ${Math.floor(ageMs / 60_000)} minutes old. ${CHECK_REFRESH}`
  }

  #accountFault(): string | null {
    const { request, catalog } = this.#refusedAtMs
    const refusedAtMs = Math.max(request ?? -Infinity, catalog ?? -Infinity)
    return this.#clock.nowMs() - refusedAtMs < REFUSAL_BELIEVED_MS ? ACCOUNT_REFUSED : null
  }
}

const CHECK_STORE =
  'Check that what DATABASE_URL names can be reached and has room; the log says what failed.'
const CHECK_REFRESH =
  'Check that the list of models at UPSTREAM_BASE_URL can be read; the log says what failed.'
const DRAINING = 'The server is stopping: send requests to another.'
const STORE_FAILED = `The store failed at what it was asked last. ${CHECK_STORE}`
const TAKEN_FOR_DEAD =
  'Other servers of the same store may have taken this one for dead, because its heartbeats did not arrive. It goes on by itself once they do.'
const ACCOUNT_REFUSED =
  'The provider refuses the gateway. Check UPSTREAM_API_KEY and the credit behind it.'
