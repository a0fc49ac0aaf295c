import type { Bench, Scenario } from '../bench.ts'
import { closedLoop, type Workload } from '../load.ts'
import { type Measure, measure } from '../measure.ts'
import { portkey, startPeer } from '../peers.ts'
import { cpuMicrosPerRequest, interleave, warm } from '../rounds.ts'
import { pairedRatios } from '../statistics.ts'
import type { Target } from '../target.ts'
import { chatWorkload, streamBody, textBody } from '../workloads.ts'

/** Other gateways under the same load. They keep no books: what that costs is tollgate's alone. */
export const PEERS: Scenario = {
  name: 'peers',
  summary:
    'the same load on other gateways, which keep no books (npm install --prefix bench first)',
  runs: 'whenNamed',
  async run(bench) {
    const simulator = await bench.simulator()
    const { address: upstreamAddress } = simulator
    const peers = [await portkey(), bench.flags.peer].filter((peer) => peer !== null)
    if (peers.length === 0) {
      throw new Error('no other gateway is there: npm install --prefix bench, or --peer-command')
    }
    const targets: Target[] = [await bench.bareProxy(), await bench.gateway()]
    for (const peer of peers) {
      const running = await startPeer({ peer, folder: bench.folder, upstreamAddress })
      bench.keep(running)
      targets.push(running)
    }
    return [
      ...(await compare(bench, {
        noun: 'request',
        targets,
        workload: await chatWorkload(simulator, textBody()),
        requests: bench.scaled({ full: 3_000, quick: 600 }),
      })),
      ...(await compare(bench, {
        noun: 'stream of 100 events',
        targets,
        workload: await chatWorkload(simulator, streamBody({ events: 100, intervalMs: 0 })),
        requests: bench.scaled({ full: 600, quick: 200 }),
      })),
    ]
  },
}

interface CompareInput {
  readonly noun: string
  /** The first is what the others are compared with. */
  readonly targets: readonly Target[]
  readonly workload: Workload
  readonly requests: number
}

async function compare(bench: Bench, input: CompareInput): Promise<Measure[]> {
  const { noun, targets, workload, requests } = input
  await warm({ targets, workload, requests })
  const results = await interleave({
    targets,
    rounds: bench.rounds,
    run: (target) => closedLoop({ target, workload, requests, clients: 16 }),
  })
  const cpu = results.map(cpuMicrosPerRequest)
  const under = cpu[0] ?? []
  return targets.flatMap(({ name }, place) => {
    const over = cpu[place] ?? []
    return [
      measure({ name: `${name}, CPU a ${noun}`, unit: 'µs', values: over }),
      measure({
        name: `${name}, over the bare proxy’s`,
        unit: 'x',
        values: pairedRatios({ over, under }),
      }),
    ]
  })
}
