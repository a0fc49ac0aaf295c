import { monitorEventLoopDelay } from 'node:perf_hooks'

const STEP_MS = 20

/**
 * The time that this process has had: what other work takes from a busy machine does not count. For what must be short on
 * an idle machine.
 */
export class OwnTime {
  // A step that comes late is one step.
  readonly #steps = monitorEventLoopDelay({ resolution: STEP_MS })

  constructor() {
    this.#steps.enable()
  }

  nowMs(): number {
    return this.#steps.count * STEP_MS
  }

  close(): void {
    this.#steps.disable()
  }
}
