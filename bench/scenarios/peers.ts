import type { Scenario } from '../bench.ts'
import type { PeerFlag } from '../flags.ts'
import { measuresOf } from '../measure.ts'
import { ProcessTree } from '../process-tree.ts'
import { compare, cpuMicrosPerRequest } from '../rounds.ts'
import { pairedRatios } from '../statistics.ts'
import type { Target } from '../target.ts'
import { Witness } from '../witness.ts'
import { chatWorkload, textBody } from '../workloads.ts'

/** Other gateways, already started in front of their own provider, compared with tollgate and the bare proxy. */
export const PEERS: Scenario = {
  name: 'peers',
  summary: 'CPU a request of gateways that run already (--peer), and of tollgate, in turns',
  runs: 'whenNamed',
  async run(bench) {
    const peers = bench.flags.peers.map(peerTarget)
    if (peers.length === 0) throw new TypeError('peers needs --peer; see --help')
    const targets = [await bench.bareProxy(), await bench.gateway(), ...peers]
    const [bare = [], ...others] = await compare(bench, {
      targets,
      workload: await chatWorkload(await bench.simulator(), textBody()),
      clients: 32,
      warmUp: 8_000,
      requests: { full: 6_000, quick: 1_000 },
    })
    for (const { witness } of peers) bench.failures.push(...witness.failures)
    const under = cpuMicrosPerRequest(bare)
    return targets.slice(1).flatMap(({ name }, place) => {
      const over = cpuMicrosPerRequest(others[place] ?? [])
      return measuresOf([
        [`${name}, CPU a request`, 'µs', over],
        [`${name}, CPU over the bare proxy’s`, 'x', pairedRatios({ over, under })],
      ])
    })
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
