import type { Scenario } from '../bench.ts'
import { measuresOf } from '../measure.ts'
import { compare, cpuMicrosPerRequest } from '../rounds.ts'
import { pairedRatios } from '../statistics.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const MANY_OVER_FEW_MAX = 1.1
const ACCOUNTS = { few: 100, many: 1_000 }
const API_KEYS_EACH = 10

/** The requests of 1 KB by ten thousand keys in turns and by a thousand, ten of each account. */
export const KEYS: Scenario = {
  name: 'keys',
  summary: 'CPU a request by 10,000 keys of 1,000 accounts in turns over that by 1,000 keys of 100',
  runs: 'unlessQuick',
  async run(bench) {
    const start = (accounts: number) =>
      bench.startGateway({
        name: `tollgate, ${accounts} accounts`,
        apiKeyCounts: Array.from({ length: accounts }, () => API_KEYS_EACH),
      })
    const few = await start(ACCOUNTS.few)
    const many = await start(ACCOUNTS.many)
    const targets = [few, many]
    const rounds = await compare(bench, {
      targets,
      workload: await chatWorkload(await bench.simulator(), textBody()),
      clients: 32,
      // In a whole run each key calls once before, so that both gateways know their callers.
      warmUp: 10_000,
      requests: { full: 10_000, quick: 500 },
    })
    for (const gateway of targets) await bench.end(gateway)
    const [under = [], over = []] = rounds.map(cpuMicrosPerRequest)
    return measuresOf([
      ['1,000 keys: CPU a request', 'µs', under],
      ['10,000 keys: CPU a request', 'µs', over],
      ['the second over the first', 'x', pairedRatios({ over, under }), MANY_OVER_FEW_MAX],
    ])
  },
}
