const PAUSE_FIRST_MS = 1_000
const PAUSE_MS_MAX = 60_000

/**
 * Whether the upstream is asked at all, so that one that is down is not hammered.
 *
 * It is `up` (asked freely), `paused` until a moment after a failure (not asked), or `probed` after
 * that moment (one question is on its way, no other). A probe that fails pauses again, for twice as
 * long, a minute at most; any answer, to whatever question, makes it up.
 */
export class Outage {
  #failures = 0
  #pausedUntilMs = 0
  #probing = false
  // Questions that were on their way together fail together: their failures are one.
  #round = 0

  /** Whether a question may be asked now. */
  mayAsk(nowMs: number): boolean {
    return this.#failures === 0 || (!this.#probing && nowMs >= this.#pauseEndMs(nowMs))
  }

  /** When to see whether a question may be asked again; only where none may be asked now. */
  retryAtMs(nowMs: number): number {
    return Math.max(this.#pauseEndMs(nowMs), nowMs + PAUSE_FIRST_MS)
  }

  // A pause that is longer than any was begun before the clock stepped back: it is over.
  #pauseEndMs(nowMs: number): number {
    return this.#pausedUntilMs - nowMs > PAUSE_MS_MAX ? nowMs : this.#pausedUntilMs
  }

  /** Notes that a question is asked; returns its round, for `failed`. */
  asked(): number {
    this.#probing = this.#failures > 0
    return this.#round
  }

  /** Notes that a question was answered. */
  answered(): void {
    this.#failures = 0
    this.#probing = false
  }

  /** Notes that a question of a round was not answered. */
  failed({ round, nowMs }: { readonly round: number; readonly nowMs: number }): void {
    if (round !== this.#round) return
    this.#round++
    this.#probing = false
    this.#pausedUntilMs = nowMs + Math.min(PAUSE_MS_MAX, PAUSE_FIRST_MS * 2 ** this.#failures)
    this.#failures++
  }
}
