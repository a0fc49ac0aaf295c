const WINDOW_SECONDS = 60

/**
 * How many requests a minute has seen, sliding and exact to a second: a request of second `s` counts
 * until the end of second `s + 59`. Takes the same memory however many they are.
 */
export class RequestCount {
  // By second modulo the window; `#newestSecond` tells which minute the ring holds.
  readonly #bySecond = new Uint32Array(WINDOW_SECONDS)
  #newestSecond = 0
  #total = 0

  /** Counts one request of this second. Seconds never run backwards, from call to call. */
  add(second: number): void {
    this.#moveTo(second)
    this.#bySecond[second % WINDOW_SECONDS] = this.#at(second) + 1
    this.#total++
  }

  /** Takes back one request that was counted in this second, unless the window has left it behind. */
  remove(second: number): void {
    if (second <= this.#newestSecond - WINDOW_SECONDS) return
    this.#bySecond[second % WINDOW_SECONDS] = this.#at(second) - 1
    this.#total--
  }

  /** Requests of the minute that ends with this second. */
  total(second: number): number {
    this.#moveTo(second)
    return this.#total
  }

  /**
   * Seconds until the minute has seen fewer than `limit`, if none is added: 0 where that is so by
   * now, at most 60.
   */
  secondsUntilBelow(input: { readonly limit: number; readonly second: number }): number {
    const { limit, second } = input
    let left = this.total(second)
    for (let wait = 0; wait < WINDOW_SECONDS; wait++) {
      if (left < limit) return wait
      // The oldest second of the window as it stands after `wait` seconds leaves with the next one.
      left -= this.#at(second - WINDOW_SECONDS + 1 + wait)
    }
    return WINDOW_SECONDS
  }

  #at(second: number): number {
    const place = ((second % WINDOW_SECONDS) + WINDOW_SECONDS) % WINDOW_SECONDS
    return this.#bySecond[place] ?? 0
  }

  #moveTo(second: number): void {
    const passed = second - this.#newestSecond
    if (passed <= 0) return
    this.#newestSecond = second
    if (passed >= WINDOW_SECONDS) {
      if (this.#total > 0) this.#bySecond.fill(0)
      this.#total = 0
      return
    }
    for (let left = second - passed + 1; left <= second; left++) {
      this.#total -= this.#at(left)
      this.#bySecond[left % WINDOW_SECONDS] = 0
    }
  }
}
