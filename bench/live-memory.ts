import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Target } from './target.ts'

/** The start settings by which a gateway can be asked for {@link LiveMemory}. */
export interface LiveMemoryStart {
  readonly nodeArgs: readonly string[]
  readonly settings: Readonly<Record<string, string>>
}

/** Memory that a gateway still uses once its garbage is collected. */
export interface LiveMemory {
  /** Of its main thread, with buffers. */
  readonly heapBytes: number
  readonly residentBytes: number
}

const PRELOAD = join(import.meta.dirname, 'collect-garbage.ts')
const COLLECTED_TIMEOUT_MS = 600_000
const LOOK_AGAIN_MS = 10

/** Asks one gateway, started with its {@link start}, what it still uses. */
export class LiveMemoryReader {
  readonly #heapFile: string
  #collections = 0

  constructor({ folder }: { readonly folder: string }) {
    this.#heapFile = join(folder, 'heap.json')
  }

  get start(): LiveMemoryStart {
    return {
      nodeArgs: ['--expose-gc', '--import', PRELOAD],
      settings: { BENCH_HEAP_FILE: this.#heapFile },
    }
  }

  /** Collects garbage, and resolves with what is left. Rejects where no answer comes. */
  async read({ tree }: Target): Promise<LiveMemory> {
    this.#collections += 1
    process.kill(tree.pid, 'SIGUSR2')
    const giveUpAtMs = performance.now() + COLLECTED_TIMEOUT_MS
    while (performance.now() < giveUpAtMs) {
      const heapBytes = this.#heapBytes()
      if (heapBytes !== null) return { heapBytes, residentBytes: tree.residentBytes() }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
    }
    throw new Error(`process ${tree.pid} does not say what memory it uses`)
  }

  /** Null while the file is from an earlier collection. */
  #heapBytes(): number | null {
    let written: unknown
    try {
      written = JSON.parse(readFileSync(this.#heapFile, 'utf8'))
    } catch {
      return null
    }
    if (typeof written !== 'object' || written === null) return null
    const { collections, heapBytes } = { collections: 0, heapBytes: 0, ...written }
    return collections === this.#collections ? heapBytes : null
  }
}
