import type { Bench, Scenario } from '../bench.ts'
import { closedLoop, type Workload } from '../load.ts'
import { type Measure, measure } from '../measure.ts'
import { cpuMicrosPerRequest, interleave, type Round, warm } from '../rounds.ts'
import { median, pairedRatios } from '../statistics.ts'
import type { Target } from '../target.ts'
import { busiestThreadMs, threadTimes } from '../thread-times.ts'
import { chatWorkload, streamBody, textBody } from '../workloads.ts'

const WORKERS = [1, 2] as const
const CLIENTS = 64
const EVENTS = 100

/**
 * What more threads bring on this machine, where the generator and the simulator want the same cores; and
 * how busy the busiest thread is, which is what no further core can help with.
 */
export const WORKERS_GAIN: Scenario = {
  name: 'workers',
  summary: 'requests and streams a second with one worker and with two, 64 clients at once',
  runs: 'whenNamed',
  async run(bench) {
    const targets: Target[] = []
    for (const workers of WORKERS) {
      const settings = { WORKERS: String(workers) }
      targets.push(await bench.startGateway({ name: `workers ${workers}`, settings }))
    }
    const simulator = await bench.simulator()
    const requests = await compare(bench, {
      targets,
      workload: await chatWorkload(simulator, textBody()),
      scale: { full: 6_000, quick: 2_000 },
    })
    const streams = await compare(bench, {
      targets,
      workload: await chatWorkload(simulator, streamBody({ events: EVENTS, intervalMs: 0 })),
      scale: { full: 1_200, quick: 400 },
    })
    return [
      ...measuresOf({ noun: 'request', rounds: requests }),
      ...measuresOf({ noun: 'stream', rounds: streams }),
    ]
  },
}

interface CompareInput {
  readonly targets: readonly Target[]
  readonly workload: Workload
  readonly scale: { readonly full: number; readonly quick: number }
}

/** A round, and what its busiest thread did. */
type ThreadedRound = Round & { readonly busiestMs: number }

/** The rounds of each gateway, in the order of {@link WORKERS}. */
async function compare(
  bench: Bench,
  { targets, workload, scale }: CompareInput,
): Promise<ThreadedRound[][]> {
  const requests = bench.scaled(scale)
  await warm({ targets, workload, requests })
  const busiest = new Map<Target, number[]>(targets.map((target) => [target, []]))
  const rounds = await interleave({
    targets,
    rounds: bench.rounds,
    async run(target) {
      const before = threadTimes(target.tree.pid)
      const result = await closedLoop({ target, workload, requests, clients: CLIENTS })
      const after = threadTimes(target.tree.pid)
      busiest.get(target)?.push(busiestThreadMs({ before, after }))
      return result
    },
  })
  return targets.map((target, place) =>
    (rounds[place] ?? []).map((round, count) => ({
      ...round,
      busiestMs: busiest.get(target)?.[count] ?? Number.NaN,
    })),
  )
}

interface MeasuresOfInput {
  readonly noun: 'request' | 'stream'
  readonly rounds: readonly ThreadedRound[][]
}

function measuresOf({ noun, rounds }: MeasuresOfInput): Measure[] {
  const [one = [], two = []] = rounds
  const perSecond = (of: readonly Round[]): number[] =>
    of.map(({ requests, wallMs }) => (requests * 1_000) / wallMs)
  const medianMs = (of: readonly Round[]): number[] =>
    of.map(({ latenciesMs }) => median(latenciesMs))
  const busiestMicros = (of: readonly ThreadedRound[]): number[] =>
    of.map(({ busiestMs, requests }) => (busiestMs * 1_000) / requests)
  const each = [one, two].flatMap((of, place) => {
    const name = `${WORKERS[place]} worker${place === 0 ? '' : 's'}`
    return [
      measure({ name: `${name}, ${noun}s`, unit: 'per second', values: perSecond(of) }),
      measure({ name: `${name}, CPU a ${noun}`, unit: 'µs', values: cpuMicrosPerRequest(of) }),
      measure({ name: `${name}, busiest thread a ${noun}`, unit: 'µs', values: busiestMicros(of) }),
      measure({ name: `${name}, a ${noun}, median`, unit: 'ms', values: medianMs(of) }),
    ]
  })
  return [
    ...each,
    measure({
      name: `${noun}s a second, two workers over one`,
      unit: 'x',
      values: pairedRatios({ over: perSecond(two), under: perSecond(one) }),
    }),
    measure({
      name: `CPU a ${noun}, two workers over one`,
      unit: 'x',
      values: pairedRatios({ over: cpuMicrosPerRequest(two), under: cpuMicrosPerRequest(one) }),
    }),
    measure({
      name: `busiest thread a ${noun}, two workers over one`,
      unit: 'x',
      values: pairedRatios({ over: busiestMicros(two), under: busiestMicros(one) }),
    }),
  ]
}
