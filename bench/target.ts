import type { ProcessTree } from './process-tree.ts'
import type { Witness } from './witness.ts'

/** A small request that leaves no trace. */
export interface Probe {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string
}

/** Something that answers requests: the gateway, the bare proxy, or the simulator itself. */
export interface Target {
  readonly name: string
  /** `http://127.0.0.1:8787`, without a path. */
  readonly address: string
  readonly tree: ProcessTree
  /** The database server that works for it alone; null: it has none. */
  readonly server: ProcessTree | null
  /** Header fields of each caller; requests take them in turn. */
  readonly callers: readonly Readonly<Record<string, string>>[]
  /** Something small to ask, over and over, to see whether it answers at all. */
  readonly probe: Probe
  /** Checks every answer. */
  readonly witness: Witness
  /**
   * Counts answered requests that are not final yet; null if nothing becomes final. They are looked up, or stand, a
   * second after each, so that the work of a round is not over with its last answer.
   */
  readonly countUnsettled: (() => Promise<number>) | null
}
