import type { Scenario } from '../bench.ts'
import { closedLoop } from '../load.ts'
import { measuresOf } from '../measure.ts'
import { cpuMicrosPerRequest, interleave, warm } from '../rounds.ts'
import type { SeededKey } from '../seed-store.ts'
import { pairedRatios } from '../statistics.ts'
import { callersOf } from '../systems.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const CLIENTS = 32
const GROWTH_MAX = 1.1
/** Accounts of a thousand keys together, in a store of their own and among all the others of a grown one. */
const BUSY = { accounts: 10, apiKeysEach: 100 }
const SIZES = {
  quick: { accounts: 1_000, activityRows: 10_000 },
  usual: { accounts: 10_000, activityRows: 200_000 },
  full: { accounts: 100_000, activityRows: 5_000_000 },
}

/**
 * The requests of 1 KB on a store that is nearly empty and on one that has grown: by keys of as many
 * accounts, so that nothing but the store differs, and by as many keys of an account each.
 */
export const GROWTH: Scenario = {
  name: 'growth',
  summary: 'CPU a request on a grown store over a small one’s: accounts, and rows of activity',
  runs: 'always',
  async run(bench) {
    const { full, quick } = bench.flags
    const { accounts, activityRows } = SIZES[full ? 'full' : quick ? 'quick' : 'usual']
    const small = await bench.startGateway({
      name: 'tollgate, small store',
      apiKeyCounts: Array.from({ length: BUSY.accounts }, () => BUSY.apiKeysEach),
    })
    const busyEvery = accounts / BUSY.accounts
    const grown = await bench.startGateway({
      name: 'tollgate, grown store',
      apiKeyCounts: Array.from({ length: accounts }, (_, place) =>
        place % busyEvery === 0 ? BUSY.apiKeysEach : 1,
      ),
      activityRows,
    })
    // The cost of a grown store for requests is measured, not its upgrade.
    if (!quick) await grown.rolledUp()
    const { busy, others } = splitByKeys(grown.apiKeys)
    const othersEvery = Math.ceil(others.length / busy.length)
    // The small store runs with each of the others, so that both gateways serve as many requests.
    const targets = [
      small,
      { ...grown, callers: callersOf(busy) },
      small,
      { ...grown, callers: callersOf(others.filter((_, place) => place % othersEvery === 0)) },
    ]
    const workload = await chatWorkload(await bench.simulator(), textBody())
    await warm(bench, { targets: [small, grown], workload, warmUp: 6_000 })
    const requests = bench.scaled({ full: 4_000, quick: 250 })
    const rounds = await interleave({
      targets,
      rounds: bench.rounds,
      run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
    })
    for (const gateway of [small, grown]) await bench.end(gateway)
    const [underSame = [], same = [], underSpread = [], spread = []] =
      rounds.map(cpuMicrosPerRequest)
    const [all, rows] = [accounts, activityRows].map((count) => count.toLocaleString('en'))
    const sameRatio = pairedRatios({ over: same, under: underSame })
    const spreadRatio = pairedRatios({ over: spread, under: underSpread })
    const smallStore = [...underSame, ...underSpread]
    return measuresOf([
      ['10 accounts and no activity: CPU a request', 'µs', smallStore],
      [`10 of ${all} accounts, ${rows} rows of activity: CPU a request`, 'µs', same],
      ['the second over the first', 'x', sameRatio, GROWTH_MAX],
      ['a thousand of them, a key each: CPU a request', 'µs', spread],
      ['the same over the first', 'x', spreadRatio, GROWTH_MAX],
    ])
  },
}

/** Keys of accounts that have many, and of accounts that have one. */
function splitByKeys(apiKeys: readonly SeededKey[]): {
  readonly busy: readonly SeededKey[]
  readonly others: readonly SeededKey[]
} {
  const counts = new Map<string, number>()
  for (const { accountId } of apiKeys) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const hasOne = ({ accountId }: SeededKey): boolean => counts.get(accountId) === 1
  return { busy: apiKeys.filter((key) => !hasOne(key)), others: apiKeys.filter(hasOne) }
}
