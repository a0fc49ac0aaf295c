import type { Scenario } from '../bench.ts'
import { compareGateways } from '../cpu-measures.ts'
import { chatWorkload, streamBody } from '../workloads.ts'

/** Streams of 100 events at full speed, from 16 clients at once. */
export const STREAMS: Scenario = {
  name: 'streams',
  summary: 'CPU a stream of 100 events at full speed, 16 at once',
  runs: 'always',
  async run(bench) {
    const body = streamBody({ events: 100, intervalMs: 0 })
    const { measures } = await compareGateways(bench, {
      noun: 'stream',
      workload: await chatWorkload(await bench.simulator(), body),
      clients: 16,
      warmUp: { full: 1_500, quick: 100 },
      requests: { full: 1_200, quick: 200 },
      ratioMax: 1.6,
    })
    return measures
  },
}
