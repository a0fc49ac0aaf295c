/** How often a body's pace is checked. */
export const PACE_INTERVAL_MS = 1_000

interface PaceRule {
  readonly lastSeconds: number
  readonly bytesMin: number
}

const ALWAYS: PaceRule = { lastSeconds: 30, bytesMin: 30 * 8 * 1024 }
const WHILE_CROWDED: PaceRule = { lastSeconds: 5, bytesMin: 100 * 1024 }

/**
 * How fast a body arrives. Memory is reserved for a body while it is read, so a sender that withholds its
 * last bytes would keep that memory for nothing. Bytes are counted as they were sent, because a few
 * compressed bytes can expand to many.
 */
export class BodyPace {
  /** The bytes that had arrived at each check of the last 30 seconds, oldest first. */
  readonly #came: number[]

  constructor(bytesAtStart: number) {
    this.#came = [bytesAtStart]
  }

  /** Call it every second: whether the body is slower than allowed; the limit is higher while memory is short. */
  isTooSlow(bytesNow: number, { isCrowded }: { readonly isCrowded: boolean }): boolean {
    this.#came.push(bytesNow)
    if (this.#came.length > ALWAYS.lastSeconds + 1) this.#came.shift()
    return this.#isBelow(ALWAYS) || (isCrowded && this.#isBelow(WHILE_CROWDED))
  }

  #isBelow({ lastSeconds, bytesMin }: PaceRule): boolean {
    const before = this.#came.at(-1 - lastSeconds)
    const now = this.#came.at(-1)
    return before !== undefined && now !== undefined && now - before < bytesMin
  }
}
