import type { Scenario } from '../bench.ts'
import { cpuMeasures } from '../cpu-measures.ts'
import { closedLoop } from '../load.ts'
import { interleave, warm } from '../rounds.ts'
import { chatWorkload, streamBody } from '../workloads.ts'

const CLIENTS = 16
const EVENTS = 100
const CPU_RATIO_MAX = 1.6

/** Streams of 100 events at full speed, from 16 clients at once. */
export const STREAMS: Scenario = {
  name: 'streams',
  summary: 'CPU a stream of 100 events at full speed, 16 at once',
  runs: 'always',
  async run(bench) {
    const onAllCores = await bench.onAllCores()
    const targets = [
      await bench.gateway(),
      await bench.bareProxy(),
      await bench.lookingAllUp(),
      ...onAllCores,
      ...(await bench.onUpstreams()),
    ]
    const body = streamBody({ events: EVENTS, intervalMs: 0 })
    const workload = await chatWorkload(await bench.simulator(), body)
    await warm(bench, { targets, workload, requests: { full: 1_500, quick: 100 } })
    const requests = bench.scaled({ full: 1_200, quick: 200 })
    const [gateway = [], bare = [], lookingAllUp = [], ...others] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
    })
    return [
      ...cpuMeasures({
        noun: 'stream',
        gateway,
        lookingAllUp,
        bare,
        onAllCores: onAllCores.length === 0 ? [] : others.shift(),
        onUpstreams: others.shift(),
        ratioMax: CPU_RATIO_MAX,
      }),
    ]
  },
}
