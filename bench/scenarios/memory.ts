import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { LiveMemoryReader } from '../live-memory.ts'
import { closedLoop } from '../load.ts'
import { measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import { type Point, slopeOf } from '../statistics.ts'
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
