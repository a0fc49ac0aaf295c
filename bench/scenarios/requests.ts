import type { Scenario } from '../bench.ts'
import { compareGateways, cpuMeasures } from '../cpu-measures.ts'
import { arrivals } from '../load.ts'
import { measuresOf } from '../measure.ts'
import { interleave, warm } from '../rounds.ts'
import { chatWorkload, streamBody, textBody } from '../workloads.ts'

/** Requests of 1 KB that are not streamed, from 32 clients at once. */
export const REQUESTS: Scenario = {
  name: 'requests',
  summary: 'CPU a request that is not streamed, 1 KB, 32 at once',
  runs: 'always',
  async run(bench) {
    const { gateway, measures } = await compareGateways(bench, {
      noun: 'request',
      workload: await chatWorkload(await bench.simulator(), textBody()),
      clients: 32,
      warmUp: 8_000,
      requests: { full: 6_000, quick: 500 },
      ratioMax: 4.5,
    })
    const perSecond = gateway.map((round) => (round.requests * 1_000) / round.wallMs)
    const rows = measuresOf([['tollgate, requests in this run', 'per second', perSecond]])
    return [...measures, ...rows]
  },
}

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
      warmUp: 1_500,
      requests: { full: 1_200, quick: 200 },
      ratioMax: 1.6,
    })
    return measures
  },
}

const PER_SECOND = 400

/** Requests at random moments, so that few of them share a commit. */
export const ARRIVALS: Scenario = {
  name: 'arrivals',
  summary: 'CPU a request at random moments, 400 a second, so that few share a commit',
  runs: 'always',
  async run(bench) {
    const targets = [await bench.gateway(), await bench.bareProxy(), await bench.lookingAllUp()]
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm(bench, { targets, workload, warmUp: 4_000 })
    const requests = bench.scaled({ full: 3_000, quick: 100 })
    const [gateway = [], bare = [], lookingAllUp = []] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) =>
        arrivals({ target, workload, requests, perSecond: PER_SECOND, moments: 'random' }),
    })
    return cpuMeasures({ noun: 'request', gateway, lookingAllUp, bare, ratioMax: 6 })
  },
}
