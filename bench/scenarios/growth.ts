import type { Scenario } from '../bench.ts'
import { closedLoop } from '../load.ts'
import { measure } from '../measure.ts'
import { cpuMicrosPerRequest, interleave, warm } from '../rounds.ts'
import { pairedRatios } from '../statistics.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const CLIENTS = 32
/** Keys that send requests, on either store: growth of the store is measured, not of the load. */
const API_KEYS_USED = 1_000
const GROWTH_MAX = 1.1
const SMALL = { accounts: 10, activityRows: 0 }
const SIZES = {
  quick: { accounts: 1_000, activityRows: 10_000 },
  usual: { accounts: 10_000, activityRows: 200_000 },
  full: { accounts: 100_000, activityRows: 5_000_000 },
}

/** The requests of 1 KB on a store that is nearly empty, and on one that has grown. */
export const GROWTH: Scenario = {
  name: 'growth',
  summary: 'CPU a request on a grown store over a small one’s: accounts, and rows of activity',
  runs: 'always',
  async run(bench) {
    const { full, quick } = bench.flags
    const size = SIZES[full ? 'full' : quick ? 'quick' : 'usual']
    const small = await bench.startGateway({
      name: 'tollgate, small store',
      ...SMALL,
      apiKeysPerAccount: API_KEYS_USED / SMALL.accounts,
    })
    const large = await bench.startGateway({
      name: 'tollgate, grown store',
      ...size,
      apiKeysPerAccount: 1,
      apiKeysUsed: API_KEYS_USED,
    })
    const targets = [small, large]
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm({ targets, workload, requests: bench.scaled({ full: 6_000, quick: 300 }) })
    const requests = bench.scaled({ full: 4_000, quick: 500 })
    const [before = [], after = []] = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
    })
    for (const target of targets) await bench.end(target)
    const [under, over] = [cpuMicrosPerRequest(before), cpuMicrosPerRequest(after)]
    const [accounts, rows] = [size.accounts, size.activityRows].map((n) => n.toLocaleString('en'))
    return [
      measure({ name: '10 accounts, no activity: CPU a request', unit: 'µs', values: under }),
      measure({
        name: `${accounts} accounts, ${rows} rows of activity: CPU a request`,
        unit: 'µs',
        values: over,
      }),
      measure({
        name: 'the second over the first',
        unit: 'x',
        values: pairedRatios({ over, under }),
        budget: GROWTH_MAX,
      }),
    ]
  },
}
