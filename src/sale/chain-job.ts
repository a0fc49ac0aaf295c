import { Passes } from '../store/passes.ts'
import type { ChainLook, ChainWatch } from './chain-watch.ts'

const LOOK_MS = 15_000

interface ChainJobInput {
  readonly watch: Pick<ChainWatch, 'look'>
  /** Called after each look. */
  readonly onLook: (look: ChainLook) => void
  /** Called with the cause of a look that has failed, such as a store that is away. */
  readonly onFailure: (cause: unknown) => void
}

/** Looks at the chain every 15 seconds, and at once again while there are more final blocks. */
export class ChainJob {
  readonly #passes: Passes

  constructor({ watch, onLook, onFailure }: ChainJobInput) {
    this.#passes = new Passes({
      intervalMs: LOOK_MS,
      onFailure,
      pass: async () => {
        while (!this.#passes.stopped) {
          const look = await watch.look()
          onLook(look)
          if (look.kind !== 'advanced' || look.to === look.top) return
        }
      },
    })
  }

  start(): void {
    this.#passes.start()
  }

  /** Resolves when the look that is under way has ended. */
  stop(): Promise<void> {
    return this.#passes.stop()
  }
}
