import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { closedLoop } from '../load.ts'
import { measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import { type Point, slopeOf } from '../statistics.ts'
import type { Target } from '../target.ts'
import { chatWorkload, streamBody, textBody } from '../workloads.ts'

const MB = 1024 * 1024
const BATCHES = { full: 18, quick: 9 }
// Caches fill in the first of them, and the counts of the last minute.
const BATCHES_BEFORE = 6
const GROWTH_BYTES_MAX = 100
const AT_REST_MB_MAX = 130

// Its first passes over the store are done after this time.
const AT_REST_AFTER_MS = 6_000

/** In MB, of a gateway that nothing of the bench is loaded into. */
async function readAtRest(bench: Bench): Promise<number> {
  const gateway = await bench.startGateway({ name: 'tollgate at rest' })
  await delay(AT_REST_AFTER_MS)
  const residentBytes = gateway.tree.residentBytes()
  await bench.end(gateway)
  return residentBytes / MB
}

/** The memory that the gateway keeps for requests that are over: none. */
export const MEMORY: Scenario = {
  name: 'memory',
  summary: 'memory at rest, under load and after an hour’s worth of requests, twenty a second',
  runs: 'always',
  async run(bench) {
    const atRestMb = await readAtRest(bench)
    const reader = new LiveMemoryReader({ folder: bench.folder })
    const gateway = await bench.startGateway({ name: 'tollgate, memory', ...reader.start })
    const simulator = await bench.simulator()
    const whole = await chatWorkload(simulator, textBody())
    const stream = await chatWorkload(simulator, streamBody({ events: 100, intervalMs: 0 }))
    gateway.tree.resetPeak()
    const batches = bench.scaled(BATCHES)
    const requests = bench.scaled({ full: 72_000, quick: 900 }) / batches
    const resident: Point[] = []
    const heap: Point[] = []
    for (let batch = 1; batch <= batches; batch++) {
      const load = { target: gateway, clients: 32 }
      await closedLoop({ ...load, workload: whole, requests: requests * 0.9 })
      await closedLoop({ ...load, workload: stream, requests: requests * 0.1 })
      await settled(gateway)
      const { heapBytes, residentBytes } = await reader.read(gateway)
      heap.push({ x: batch * requests, y: heapBytes })
      resident.push({ x: batch * requests, y: residentBytes })
    }
    const peakBytes = gateway.tree.residentPeakBytes()
    await bench.end(gateway)
    const left = (points: readonly Point[]): number[] => [slopeOf(points.slice(BATCHES_BEFORE))]
    const growthMax = bench.flags.quick ? null : GROWTH_BYTES_MAX
    return measuresOf([
      ['at rest', 'MB', [atRestMb], AT_REST_MB_MAX],
      ['under load, at its most', 'MB', [peakBytes / MB]],
      ['after it, garbage collected', 'MB', [(resident.at(-1)?.y ?? 0) / MB]],
      ['heap that each request leaves behind', 'B', left(heap), growthMax],
      ['resident memory that each request leaves behind', 'B', left(resident)],
    ])
  },
}

const PRELOAD = join(import.meta.dirname, '..', 'collect-garbage.ts')
const COLLECTED_TIMEOUT_MS = 600_000
const LOOK_AGAIN_MS = 10

/** Asks one gateway, started with its {@link start}, for its memory after its garbage is collected. */
class LiveMemoryReader {
  readonly #heapFile: string
  #collections = 0

  constructor({ folder }: { readonly folder: string }) {
    this.#heapFile = join(folder, 'heap.json')
  }

  /** The start settings by which a gateway can be asked. */
  get start() {
    return {
      nodeArgs: ['--expose-gc', '--import', PRELOAD],
      settings: { BENCH_HEAP_FILE: this.#heapFile },
    }
  }

  /**
   * Collects garbage, and resolves with the remaining use: on the heap of the main thread, with buffers, and in all.
   */
  async read({
    tree,
  }: Target): Promise<{ readonly heapBytes: number; readonly residentBytes: number }> {
    this.#collections += 1
    process.kill(tree.pid, 'SIGUSR2')
    const giveUpAtMs = performance.now() + COLLECTED_TIMEOUT_MS
    while (performance.now() < giveUpAtMs) {
      const heapBytes = this.#heapBytes()
      if (heapBytes !== null) return { heapBytes, residentBytes: tree.residentBytes() }
      await delay(LOOK_AGAIN_MS)
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
