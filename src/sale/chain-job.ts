import { Passes } from '../store/passes.ts'
import { type ChainLook, hasMoreToScan } from './chain-look.ts'
import type { ChainWatch } from './chain-watch.ts'

const LOOK_MS = 15_000

interface ChainJobInput {
  readonly watch: Pick<ChainWatch, 'look'>
  /** Called after each look. */
  readonly onLook: (look: ChainLook) => void
  /** Called with the cause of a look that has failed, such as a store that is away. */
  readonly onFailure: (cause: unknown) => void
}

/** Looks at the chain every 15 seconds, and at once again while there is more to scan. */
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
          if (!hasMoreToScan(look)) return
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
