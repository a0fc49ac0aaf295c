import type { Bench, Scenario } from '../bench.ts'
import type { PeerFlag } from '../flags.ts'
import { closedLoop } from '../load.ts'
import { type Measure, measure } from '../measure.ts'
import { ProcessTree } from '../process-tree.ts'
import { cpuMicrosPerRequest, interleave, type Round, warm } from '../rounds.ts'
import { pairedRatios } from '../statistics.ts'
import type { Target } from '../target.ts'
import { Witness } from '../witness.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const CLIENTS = 32

/** Other gateways, already started in front of their own provider, compared with tollgate and the bare proxy. */
export const PEERS: Scenario = {
  name: 'peers',
  summary: 'CPU a request of gateways that run already (--peer), and of tollgate, in turns',
  runs: 'whenNamed',
  async run(bench) {
    const peers = bench.flags.peers.map(peerTarget)
    if (peers.length === 0) throw new TypeError('peers needs --peer; see --help')
    const targets = [await bench.bareProxy(), await bench.gateway(), ...peers]
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm(bench, { targets, workload, requests: { full: 8_000, quick: 600 } })
    const requests = bench.scaled({ full: 6_000, quick: 1_000 })
    const [bare = [], ...others] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
    })
    noteFailures(bench, peers)
    return targets
      .slice(1)
      .flatMap(({ name }, place) => measuresOf({ name, rounds: others[place] ?? [], bare }))
  },
}

function peerTarget({ name, address, pid, authorization }: PeerFlag): Target {
  return {
    name,
    address,
    tree: new ProcessTree(pid),
    server: null,
    callers: [authorization === null ? {} : { authorization }],
    probe: { method: 'GET', path: '/', body: '' },
    // Its answers are its own: other ids, other fields.
    witness: new Witness({ name, givesRequestIds: false, bodies: 'any' }),
    countUnsettled: null,
  }
}

function noteFailures({ failures }: Bench, peers: readonly Target[]): void {
  for (const { witness } of peers) failures.push(...witness.failures)
}

function measuresOf({
  name,
  rounds,
  bare,
}: {
  readonly name: string
  readonly rounds: readonly Round[]
  readonly bare: readonly Round[]
}): Measure[] {
  const [over, under] = [cpuMicrosPerRequest(rounds), cpuMicrosPerRequest(bare)]
  return [
    measure({ name: `${name}, CPU a request`, unit: 'µs', values: over }),
    measure({
      name: `${name}, CPU over the bare proxy’s`,
      unit: 'x',
      values: pairedRatios({ over, under }),
    }),
  ]
}
