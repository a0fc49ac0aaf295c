import { join } from 'node:path'
import { copyStore } from '../../src/store/copy-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import { systemClock } from '../../src/vocabulary/clock.ts'
import type { Bench, Scenario } from '../bench.ts'
import { closedLoop } from '../load.ts'
import { type Measure, type MeasureRow, measuresOf } from '../measure.ts'
import { checkCharts, readsOfPage } from '../page-charts.ts'
import { PageReaders } from '../page-readers.ts'
import { cpuMicrosPerRequest, interleave, warm } from '../rounds.ts'
import { seedActivity } from '../seed-activity.ts'
import { seedStore } from '../seed-store.ts'
import { pairedRatios } from '../statistics.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const CLIENTS = 32
const CPU_RATIO_MAX = 1.03
// The keys of one large account and of each ordinary account, of each thousand.
const API_KEY_COUNTS = [220, ...Array.from({ length: 87 }, () => 9)]
const MODELS = Array.from({ length: 12 }, (_, place) => `sim/model-${place}`)
const SIZES = {
  quick: { rows: 5_000, days: 5 },
  usual: { rows: 500_000, days: 90 },
  full: { rows: 5_000_000, days: 90 },
}

/** The page in a browser: how long charts and lists take, and their cost for the gateway. */
export const PAGE: Scenario = {
  name: 'page',
  summary: 'charts and lists of the page on a grown store, and CPU a request beside them',
  runs: 'always',
  enforcesBudgets: 'of times',
  async run(bench) {
    const size = SIZES[bench.flags.full ? 'full' : bench.flags.quick ? 'quick' : 'usual']
    return [...(await measureReads(bench, size)), ...(await measureGateway(bench, size.rows))]
  },
}

async function measureReads(
  bench: Bench,
  { rows, days }: { readonly rows: number; readonly days: number },
): Promise<readonly Measure[]> {
  const file = join(bench.folder, 'page.db')
  const apiKeys = await seedStore({ url: `sqlite:${file}`, apiKeyCounts: API_KEY_COUNTS })
  seedActivity({ file, apiKeys, requests: rows, days, modelIds: MODELS })
  await using closing = new AsyncDisposableStack()
  const store = await openStore({ url: `sqlite:${file}` })
  closing.defer(() => store.close())
  const rolled = await roll(store)
  const accountIds = {
    large: apiKeys[0]?.accountId ?? '',
    ordinary: apiKeys.at(-1)?.accountId ?? '',
  }
  bench.failures.push(...(await checkCharts(store, accountIds.large)))
  const requests = `${rows.toLocaleString('en')} requests`
  const measures = [
    ...measuresOf([
      [`rolling up ${requests}, without pauses`, 'ms', [rolled.tookMs]],
      ['of it, the longest statement', 'ms', [rolled.longestMs]],
    ]),
    ...(await timedReads(bench, { store, accountIds, engine: 'SQLite' })),
  ]
  // Copying millions of rows takes longer than all else.
  const { startPostgresServer } = await import('../../src/store/testing/postgres-server.ts')
  const server = await startPostgresServer({ settings: ['max_connections=50'] })
  closing.defer(() => server.stop())
  const url = server.url('postgres')
  await copyStore({ from: `sqlite:${file}`, to: url, verify: async () => {} })
  const copy = await openStore({ url })
  closing.defer(() => copy.close())
  bench.failures.push(...(await checkCharts(copy, accountIds.large)))
  return [
    ...measures,
    ...(await timedReads(bench, { store: copy, accountIds, engine: 'PostgreSQL' })),
  ]
}

interface TimedReadsInput {
  readonly store: Store
  readonly accountIds: { readonly large: string; readonly ordinary: string }
  readonly engine: string
}

async function timedReads(bench: Bench, { store, accountIds, engine }: TimedReadsInput) {
  const rows: MeasureRow[] = []
  const reads = readsOfPage(store, { ...accountIds, modelId: MODELS[0] ?? '' })
  for (const { name, msMax, run } of reads) {
    await run()
    const values: number[] = []
    for (let round = 0; round < bench.rounds; round++) {
      const beganAtMs = performance.now()
      await run()
      values.push(performance.now() - beganAtMs)
    }
    rows.push([`${engine}: ${name}`, 'ms', values, msMax])
  }
  return measuresOf(rows)
}

/** Rolls all of a store up, and times it. */
async function roll(
  store: Store,
): Promise<{ readonly tookMs: number; readonly longestMs: number }> {
  let longestMs = 0
  const roller = new UsageRoller({
    store,
    clock: systemClock,
    onRolled: () => {},
    onLate: () => {},
    onFailure: () => {},
    async pause(tookMs) {
      longestMs = Math.max(longestMs, tookMs)
    },
  })
  const beganAtMs = performance.now()
  await roller.pass()
  return { tookMs: performance.now() - beganAtMs, longestMs }
}

/** CPU a request while history is rolled up and ten pages are open, over that of a gateway without either. */
async function measureGateway(bench: Bench, rows: number): Promise<readonly Measure[]> {
  const adminToken = 'token-of-the-bench'
  const settings = { ADMIN_API_TOKEN: adminToken }
  // Both gateways have these rows, so that they differ only by pages and roll-ups.
  const quiet = await bench.startGateway({
    name: 'tollgate, no page',
    settings,
    activityRows: rows,
  })
  if (!bench.flags.quick) await quiet.rolledUp()
  const paged = await bench.startGateway({ name: 'tollgate, pages', settings, activityRows: rows })
  const readers = new PageReaders({ address: paged.address, adminToken, readers: 10 })
  const workload = await chatWorkload(await bench.simulator(), textBody())
  const targets = [quiet, paged]
  await warm(bench, { targets, workload, warmUp: 6_000 })
  readers.start()
  // The CPU time of a process is known to 10 ms, and the machine has other work.
  const requests = bench.scaled({ full: 16_000, quick: 500 })
  const rounds = await interleave({
    targets,
    rounds: bench.rounds,
    run: (target) => closedLoop({ target, workload, requests, clients: CLIENTS }),
  })
  bench.failures.push(...(await readers.stop()))
  for (const gateway of targets) await bench.end(gateway)
  const [under = [], over = []] = rounds.map(cpuMicrosPerRequest)
  return measuresOf([
    ['CPU a request without them', 'µs', under],
    ['CPU a request with ten pages open and history being rolled up', 'µs', over],
    ['the second over the first', 'x', pairedRatios({ over, under }), CPU_RATIO_MAX],
  ])
}
