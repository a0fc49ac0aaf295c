/** Holds answers back until a test lets them go. */
export class Gate {
  #entered = 0
  #isOpen = false
  #waiters: (() => void)[] = []
  #watchers: { readonly count: number; readonly seen: () => void }[] = []

  /** How many answers have reached the gate, passed or not. */
  get arrivals(): number {
    return this.#entered
  }

  /** Resolves once so many answers have reached the gate since it was made or closed. */
  arrived(count = 1): Promise<void> {
    if (this.#entered >= count) return Promise.resolve()
    return new Promise((seen) => this.#watchers.push({ count, seen }))
  }

  /** Lets go of the first so many that wait; without a count, of all, and of all that come later. */
  release(count?: number): void {
    if (count === undefined) this.#isOpen = true
    for (const waiter of this.#waiters.splice(0, count ?? this.#waiters.length)) waiter()
  }

  /** Holds all answers from now on, and counts arrivals from 0 again. */
  close(): void {
    this.#isOpen = false
    this.#entered = 0
  }

  /** Comes to the gate; `pass` is called when it is let go. */
  enter(pass: () => void): void {
    this.#entered += 1
    this.#watchers = this.#watchers.filter((watcher) => {
      if (this.#entered < watcher.count) return true
      watcher.seen()
      return false
    })
    if (this.#isOpen) pass()
    else this.#waiters.push(pass)
  }
}

/** All gates by name; a gate exists, and is shut, as soon as it is named. */
export class Gates {
  readonly #byName = new Map<string, Gate>()

  gate(name: string): Gate {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const made = new Gate()
    this.#byName.set(name, made)
    return made
  }

  /** Opens every gate and forgets them. */
  clear(): void {
    for (const gate of this.#byName.values()) gate.release()
    this.#byName.clear()
  }
}

/** The gate of faults that name none. */
export const DEFAULT_GATE = 'gate'
