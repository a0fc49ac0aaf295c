import type { Scenario } from '../bench.ts'
import { cpuMeasures } from '../cpu-measures.ts'
import { closedLoop, randomArrivals } from '../load.ts'
import { measure } from '../measure.ts'
import { interleave, warm } from '../rounds.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const CLIENTS = 32
const CPU_RATIO_MAX = 4.5

/** Requests of 1 KB that are not streamed, from 32 clients at once. */
export const REQUESTS: Scenario = {
  name: 'requests',
  summary: 'CPU a request that is not streamed, 1 KB, 32 at once',
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
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm(bench, { targets, workload, requests: { full: 8_000, quick: 600 } })
    const requests = bench.scaled({ full: 6_000, quick: 1_000 })
    const [gateway = [], bare = [], lookingAllUp = [], ...others] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
    })
    const perSecond = gateway.map((round) => (round.requests * 1_000) / round.wallMs)
    return [
      ...cpuMeasures({
        noun: 'request',
        gateway,
        lookingAllUp,
        bare,
        onAllCores: onAllCores.length === 0 ? [] : others.shift(),
        onUpstreams: others.shift(),
        ratioMax: CPU_RATIO_MAX,
      }),
      measure({ name: 'tollgate, requests in this run', unit: 'per second', values: perSecond }),
    ]
  },
}

const ARRIVALS_PER_SECOND = 400
const ARRIVALS_CPU_RATIO_MAX = 6

/** The same requests at random moments, so that few of them share a commit. */
export const ARRIVALS: Scenario = {
  name: 'arrivals',
  summary: 'the same at random moments, 400 a second, so that few share a commit',
  runs: 'always',
  async run(bench) {
    const targets = [await bench.gateway(), await bench.bareProxy(), await bench.lookingAllUp()]
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm(bench, { targets, workload, requests: { full: 4_000, quick: 200 } })
    const requests = bench.scaled({ full: 3_000, quick: 400 })
    const [gateway = [], bare = [], lookingAllUp = []] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) =>
        randomArrivals({ target, workload, requests, perSecond: ARRIVALS_PER_SECOND }),
    })
    const ratioMax = ARRIVALS_CPU_RATIO_MAX
    return [...cpuMeasures({ noun: 'request', gateway, lookingAllUp, bare, ratioMax })]
  },
}
