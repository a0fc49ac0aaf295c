import type { UnsettledRequest } from '../ledger/activity/unsettled.ts'

interface Waiting {
  readonly request: UnsettledRequest
  readonly dueAtMs: number
}

/**
 * Requests that wait for a moment, the earliest first, each once. Bounded: requests
 * without room are found again in the store.
 */
export class WaitingList {
  readonly #requestsMax: number
  readonly #requestIds = new Set<string>()
  // A binary heap: the parent of the entry at n is at (n - 1) / 2, rounded down.
  #heap: Waiting[] = []

  constructor({ requestsMax }: { readonly requestsMax: number }) {
    this.#requestsMax = requestsMax
  }

  /** When the earliest is due; null where none waits. */
  get nextDueAtMs(): number | null {
    return this.#heap[0]?.dueAtMs ?? null
  }

  get size(): number {
    return this.#heap.length
  }

  has(requestId: string): boolean {
    return this.#requestIds.has(requestId)
  }

  /** Does nothing if the request waits already, or there is no room. */
  add(request: UnsettledRequest, dueAtMs: number): void {
    if (this.#heap.length >= this.#requestsMax || this.#requestIds.has(request.requestId)) return
    this.#requestIds.add(request.requestId)
    this.#rise({ request, dueAtMs })
  }

  /** Takes the earliest that is due at this moment; null where none is. */
  takeDue(nowMs: number): UnsettledRequest | null {
    const first = this.#heap[0]
    if (first === undefined || first.dueAtMs > nowMs) return null
    const last = this.#heap.pop()
    if (last !== undefined && last !== first) this.#sink(last)
    this.#requestIds.delete(first.request.requestId)
    return first.request
  }

  clear(): void {
    this.#heap = []
    this.#requestIds.clear()
  }

  /** Puts an entry at the end and lets it rise above its later parents. */
  #rise(entry: Waiting): void {
    let at = this.#heap.length
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = this.#heap[parentAt]
      if (parent === undefined || parent.dueAtMs <= entry.dueAtMs) break
      this.#heap[at] = parent
      at = parentAt
    }
    this.#heap[at] = entry
  }

  /** Puts an entry at the top and lets it sink below its earlier children. */
  #sink(entry: Waiting): void {
    let at = 0
    for (;;) {
      const child = this.#earlierChild(at)
      if (child === null || child.entry.dueAtMs >= entry.dueAtMs) break
      this.#heap[at] = child.entry
      at = child.at
    }
    this.#heap[at] = entry
  }

  #earlierChild(at: number): { readonly at: number; readonly entry: Waiting } | null {
    const left = this.#heap[2 * at + 1]
    const right = this.#heap[2 * at + 2]
    if (left === undefined) return null
    return right !== undefined && right.dueAtMs < left.dueAtMs
      ? { at: 2 * at + 2, entry: right }
      : { at: 2 * at + 1, entry: left }
  }
}
