interface Aside {
  /** Until then nothing of the owner is sent. */
  untilMs: number
  waitMs: number
}

const WAIT_FIRST_MS = 1_000
// Requests are served within six seconds of the rows being free.
const WAIT_MS_MAX = 4_000

/** Nothing was asked of the owner for so long. */
const FORGOTTEN_AFTER_MS = 60_000

/**
 * Owners whose rows another transaction has locked: each is left alone for a second, then for twice as long each time, and
 * is suspected until a commit of its own has worked.
 */
export class LockedOwners {
  readonly #elapsedMs: () => number
  readonly #owners = new Map<string, Aside>()

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  get hasAny(): boolean {
    return this.#owners.size > 0
  }

  /** Whether the rows of this owner were locked the last time. */
  has(owner: string | null): boolean {
    return owner !== null && this.#owners.has(owner)
  }

  /** Whether no command of this owner may be sent now. */
  isSetAside(owner: string | null): boolean {
    if (owner === null || this.#owners.size === 0) return false
    const aside = this.#owners.get(owner)
    return aside !== undefined && this.#elapsedMs() < aside.untilMs
  }

  /** Sets aside an owner whose rows were locked. */
  setAside(owner: string | null): void {
    if (owner === null) return
    const nowMs = this.#elapsedMs()
    for (const [other, { untilMs }] of this.#owners) {
      if (untilMs + FORGOTTEN_AFTER_MS < nowMs) this.#owners.delete(other)
    }
    const before = this.#owners.get(owner)
    const waitMs = before === undefined ? WAIT_FIRST_MS : Math.min(before.waitMs * 2, WAIT_MS_MAX)
    this.#owners.set(owner, { untilMs: nowMs + waitMs, waitMs })
  }

  /** A commit with its rows has worked. */
  worked(owner: string | null): void {
    if (owner !== null) this.#owners.delete(owner)
  }
}
