import { Problem } from '../vocabulary/problem.ts'
import type { Passwords } from './passwords.ts'

// Node's thread pool has four threads, which connections to the provider need too. Each check takes
// some 60 ms and 32 MB.
const AT_ONCE_MAX = 2
const WAITING_MAX = 32

/**
 * Runs what needs the sign-in library, and checks passwords a few at a time, so that a flood of sign-ins does not
 * take the thread pool from the gateway. The library is loaded at the first.
 */
export class PasswordChecks {
  readonly #load: () => Promise<Passwords>
  #loaded: Promise<Passwords> | null = null
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(load: () => Promise<Passwords>) {
    this.#load = load
  }

  /** The library, for what takes no time of the thread pool. One that failed to load is loaded again. */
  passwords(): Promise<Passwords> {
    this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = null
      throw error
    })
    return this.#loaded
  }

  /** Throws Problem `service_unavailable` where too many wait. */
  async run<T>(check: (passwords: Passwords) => Promise<T>): Promise<T> {
    await this.#turn()
    try {
      return await check(await this.passwords())
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < AT_ONCE_MAX) {
      this.#running++
      return
    }
    if (this.#waiting.length === WAITING_MAX) {
      throw new Problem('service_unavailable', {
        message: 'Too many people are signing in at this moment. Try again in a few seconds.',
        retryAfterSeconds: 2,
      })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }
}
