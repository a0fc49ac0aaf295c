import type { ReadinessCheck } from '../../http/health.ts'

/** The main thread's own place among those that have faults. */
export const MAIN_THREAD = 0

/** What is wrong with each thread of a process, so that any of them can answer for all. */
export class PeerFaults {
  readonly #faults = new Map<number, readonly ReadinessCheck[]>()

  /** By position: a worker's number or {@link MAIN_THREAD}, and its checks that fail. */
  set(thread: number, faults: readonly ReadinessCheck[]): void {
    this.#faults.set(thread, faults)
  }

  /** A thread that has ended has none; that it is missing is the main thread's to say. */
  forget(thread: number): void {
    this.#faults.delete(thread)
  }

  /** The checks that fail on any thread but this one. */
  besides(thread: number): readonly ReadinessCheck[] {
    return [...this.#faults].flatMap(([other, faults]) => (other === thread ? [] : faults))
  }
}

/** A thread's own checks, each with another thread's fault where it has none itself. */
export function withFaultsOfOthers(
  own: readonly ReadinessCheck[],
  { faults }: { readonly faults: readonly ReadinessCheck[] },
): readonly ReadinessCheck[] {
  return own.map((check) =>
    check.fault === null ? (faults.find(({ name }) => name === check.name) ?? check) : check,
  )
}

/** Those checks that fail. */
export function faultsAmong(checks: readonly ReadinessCheck[]): readonly ReadinessCheck[] {
  return checks.filter(({ fault }) => fault !== null)
}
