import { Passes } from '../store/passes.ts'

/** Why deposits of a token wait. */
export interface WaitReason {
  readonly kind: /** It has no usable rate. */
    | 'noRate'
    /** Nodes do not answer, or do not agree on the blocks in which it is behind. */
    | 'nodes'
    /** It has a rate, and is being scanned: the next look continues. */
    | 'catchingUp'
  /** In words for an operator. */
  readonly reason: string
}

/** Tokens whose deposits wait, by their symbols. */
export type Waiting = Readonly<Record<string, WaitReason>>

/** The result of a look at the chain. */
export type ChainLook =
  | {
      readonly kind: 'advanced'
      /** The block at which the cursor is now. */
      readonly to: number
      /** The newest final block; the cursor is at it, or the next look continues. */
      readonly top: number
      /** How many deposits were added to the store. */
      readonly added: number
      readonly waiting: Waiting
    }
  /** No newer block is final. */
  | {
      readonly kind: 'idle'
      readonly to: number
      readonly added: number
      readonly waiting: Waiting
    }
  /** The cursor has not moved, and the next look tries again. */
  | { readonly kind: 'unavailable' | 'disagreed'; readonly reason: string }
  /** A block that was final is another one now. No look moves anything until `tollgate sale rescan`. */
  | { readonly kind: 'stopped'; readonly reason: string }

/** A look that must be tried again. */
export function unavailable(reason: string): ChainLook {
  return { kind: 'unavailable', reason }
}

/** A look that found another block in the place of one that was final. */
export function replacedAt(block: number): ChainLook {
  const reason = `block ${block} was final, and another block is in its place now`
  return { kind: 'stopped', reason }
}

/** Whether there is more to scan now: final blocks, or blocks in which a token is behind and has a rate. */
export function hasMoreToScan(look: ChainLook): boolean {
  if ('reason' in look) return false
  const isBehind = look.kind === 'advanced' && look.to < look.top
  return isBehind || Object.values(look.waiting).some(({ kind }) => kind === 'catchingUp')
}

const LOOK_MS = 15_000

/** Looks at the chain every 15 seconds, and at once again while there is more to scan. */
export class ChainJob {
  readonly #passes: Passes

  constructor({
    watch,
    onPass,
    onFailure,
  }: {
    readonly watch: { look(): Promise<ChainLook> }
    /** Called after each look. */
    readonly onPass: (look: ChainLook) => void
    /** Called with the cause of a look that has failed, such as a store that is away. */
    readonly onFailure: (cause: unknown) => void
  }) {
    this.#passes = new Passes({
      intervalMs: LOOK_MS,
      onFailure,
      pass: async () => {
        while (!this.#passes.stopped) {
          const look = await watch.look()
          onPass(look)
          if (!hasMoreToScan(look)) return
        }
      },
    })
  }

  start(): void {
    this.#passes.start()
  }

  /** Resolves when the running look has ended. */
  stop(): Promise<void> {
    return this.#passes.stop()
  }
}
