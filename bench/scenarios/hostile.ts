import { setTimeout as delay } from 'node:timers/promises'
import { ATTACKS, type Attack, type Attacker } from '../attacks.ts'
import { type Bench, describeError, type Scenario } from '../bench.ts'
import { type Answers, BusyThread } from '../busy-thread.ts'
import { arrivals, type Workload } from '../load.ts'
import { type Measure, type MeasureRow, measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import { quantile } from '../statistics.ts'
import { callersOf, type RunningGateway } from '../systems.ts'
import { numberText } from '../table.ts'
import type { Target } from '../target.ts'
import { chatWorkload, textBody } from '../workloads.ts'

const MB = 1024 * 1024
const P99_MS_MAX = 250
const RESIDENT_MB_MAX = 1_536
const PER_SECOND = 50
const SECONDS_OF_EACH = 10
/** Keys enough that none of them reaches its limits, also while all of them wait. */
const VICTIM_API_KEYS = 100
/** A cent: too little for any of the requests. */
const ALMOST_NO_CREDIT_MICROS = 10_000

/** The credit and the keys of each account: the one that is attacked, then those that attack. */
const ACCOUNTS: readonly {
  readonly of: Attacker | 'victim'
  readonly creditMicros: number
  readonly apiKeys: number
}[] = [
  { of: 'victim', creditMicros: 1_000_000_000, apiKeys: VICTIM_API_KEYS },
  { of: 'almost no credit', creditMicros: ALMOST_NO_CREDIT_MICROS, apiKeys: ATTACKS.length },
  { of: 'no credit', creditMicros: 0, apiKeys: ATTACKS.length },
  { of: 'much Activity', creditMicros: 1_000_000_000, apiKeys: 2 },
]
/** The requests of the past of the account that has many. */
const ACTIVITY_ROWS = { full: 300_000, quick: 3_000 }

/**
 * The latency of one account's requests while another account sends the worst it can: each attack alone, on a
 * gateway that has had no other, and all of them at once.
 */
export const HOSTILE: Scenario = {
  name: 'hostile',
  summary:
    'how long small requests of one account wait while another attacks, and the memory it takes',
  runs: 'always',
  enforcesBudgets: 'all',
  async run(bench) {
    const workload = await chatWorkload(await bench.simulator(), textBody())
    const attacks = bench.flags.quick ? [] : ATTACKS.map((attack) => [attack])
    const measures: Measure[] = []
    for (const together of [...attacks, ATTACKS]) {
      const name = together.length === 1 ? (together[0]?.name ?? '') : 'all of it at once'
      try {
        measures.push(...(await underAttack(bench, { name, attacks: together, workload })))
      } catch (error) {
        bench.failures.push(`hostile, ${name}: ${describeError(error)}`)
      }
    }
    return measures
  },
}

interface Siege {
  readonly name: string
  readonly attacks: readonly Attack[]
  readonly workload: Workload
}

async function underAttack(bench: Bench, { name, attacks, workload }: Siege): Promise<Measure[]> {
  const gateway = await bench.startGateway({
    name: `tollgate, ${name}`,
    apiKeyCounts: ACCOUNTS.map(({ apiKeys }) => apiKeys),
    creditMicros: ACCOUNTS.map(({ creditMicros }) => creditMicros),
    ...(attacks.some(({ by }) => by === 'much Activity') && {
      activityRows: bench.scaled(ACTIVITY_ROWS),
      activityAccount: ACCOUNTS.length - 1,
    }),
  })
  const accountIds = [...new Set(gateway.apiKeys.map(({ accountId }) => accountId))]
  const keysOf = (owner: Attacker | 'victim'): RunningGateway['apiKeys'] => {
    const accountId = accountIds[ACCOUNTS.findIndex((account) => account.of === owner)]
    return gateway.apiKeys.filter((apiKey) => apiKey.accountId === accountId)
  }
  const victim: Target = { ...gateway, callers: callersOf(keysOf('victim')) }
  const seconds = bench.scaled({ full: SECONDS_OF_EACH, quick: 1 })
  await waitsOf(victim, { workload, seconds })
  const before = await waitsOf(victim, { workload, seconds })
  gateway.tree.resetPeak()
  const attackers = await BusyThread.attack({
    address: gateway.address,
    attacks: attacks.map(({ name: attack, by }) => {
      const place = ATTACKS.findIndex((candidate) => candidate.name === attack)
      const own = keysOf(by === 'nobody' ? 'almost no credit' : by)
      const { text = '' } = own[place % own.length] ?? {}
      return { name: attack, apiKey: text }
    }),
    connectionsMax: bench.flags.quick ? 1 : Number.POSITIVE_INFINITY,
  })
  const siegeSeconds = attacks.length === 1 ? seconds : 3 * seconds
  const waiting = waitsOf(victim, { workload, seconds: siegeSeconds })
  await delay(siegeSeconds * 1_000)
  const answers = await attackers.stop()
  const during = await waiting
  const residentBytes = gateway.tree.residentPeakBytes()
  await settled(gateway)
  await bench.end(gateway)
  const measured = measuresOfSiege({ name, before, during, residentBytes, answers })
  for (const { name: what, values, unit } of measured) {
    console.error(`  ${what}: ${numberText(values[0] ?? 0)} ${unit}`)
  }
  return measured
}

/** Resolves with how long small requests at even intervals took. */
async function waitsOf(
  target: Target,
  { workload, seconds }: { readonly workload: Workload; readonly seconds: number },
): Promise<readonly number[]> {
  const load = { target, workload, requests: PER_SECOND * seconds, perSecond: PER_SECOND }
  return (await arrivals({ ...load, moments: 'even' })).waitsMs
}

interface Besieged {
  readonly name: string
  readonly before: readonly number[]
  readonly during: readonly number[]
  readonly residentBytes: number
  readonly answers: Answers
}

function measuresOfSiege({ name, before, during, residentBytes, answers }: Besieged): Measure[] {
  const byStatus = new Map<string, number>()
  for (const [how, count] of Object.values(answers).flatMap(Object.entries<number>)) {
    byStatus.set(how, (byStatus.get(how) ?? 0) + count)
  }
  return measuresOf([
    [`${name}: p50 before it`, 'ms', [quantile(before, 0.5)]],
    [`${name}: p99 before it`, 'ms', [quantile(before, 0.99)]],
    [`${name}: p50`, 'ms', [quantile(during, 0.5)]],
    [`${name}: p99`, 'ms', [quantile(during, 0.99)], P99_MS_MAX],
    [`${name}: p50 over that before it`, 'x', [quantile(during, 0.5) / quantile(before, 0.5)]],
    [`${name}: p99 over that before it`, 'x', [quantile(during, 0.99) / quantile(before, 0.99)]],
    [`${name}: the longest`, 'ms', [Math.max(...during)]],
    [`${name}: memory at its most`, 'MB', [residentBytes / MB], RESIDENT_MB_MAX],
    ...[...byStatus].map(
      ([how, count]): MeasureRow => [`${name}: answered ${how}`, 'answers', [count]],
    ),
  ])
}
