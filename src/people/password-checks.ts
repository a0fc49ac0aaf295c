import { Problem } from '../vocabulary/problem.ts'

// Node's thread pool has four threads, which connections to the provider need too. Each check takes
// some 60 ms and 32 MB.
const AT_ONCE_MAX = 2
const WAITING_MAX = 32

/** Checks passwords a few at a time, so that a flood of sign-ins does not take the thread pool from the gateway. */
export class PasswordChecks {
  #running = 0
  readonly #waiting: (() => void)[] = []

  /** Throws Problem `service_unavailable` where too many wait. */
  async run<T>(check: () => Promise<T>): Promise<T> {
    await this.#turn()
    try {
      return await check()
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
