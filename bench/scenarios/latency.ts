import type { Bench, Scenario } from '../bench.ts'
import { type LoadResult, Sender, type Workload } from '../load.ts'
import { LoadConnection } from '../load-connection.ts'
import { type Disk, measureDisk } from '../machine.ts'
import { type MeasureRow, measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import { median, quantile } from '../statistics.ts'
import type { Target } from '../target.ts'
import { chatWorkload, streamBody, textBody } from '../workloads.ts'

const ADDED_MS_MAX = 1.1
const FIRST_EVENT_ADDED_MS_MAX = 1
const SLOWEST_RATIO_MAX = 2
const SLOW_SHARE = 0.99

/** The added latency for one client, compared with a direct call to the provider. */
export const LATENCY: Scenario = {
  name: 'latency',
  summary: 'latency that is added to one client’s requests and to the first event of its streams',
  runs: 'always',
  async run(bench) {
    const simulator = await bench.simulator()
    const whole = await chatWorkload(simulator, textBody())
    const stream = await chatWorkload(simulator, streamBody({ events: 10, intervalMs: 0 }))
    const targets = [await bench.gateway(), await bench.bareProxy(), simulator]
    const answers = await medians(bench, {
      targets,
      workload: whole,
      timesOf: ({ latenciesMs }) => latenciesMs,
    })
    const events = await medians(bench, {
      targets,
      workload: stream,
      timesOf: ({ firstEventMs }) => firstEventMs,
    })
    const each = (figureOf: (round: RoundMedians) => number): number[] => answers.map(figureOf)
    const besideCommits = each(
      (round) => round.gatewayMs - round.directMs - 2 * round.disk.commitMs,
    )
    const slowestRatio = each(({ slowest }) => slowest.gatewayMs / slowest.bareMs)
    return measuresOf([
      ...addedTo('a request', answers, ADDED_MS_MAX),
      ['tollgate, 99th percentile of a request', 'ms', each(({ slowest }) => slowest.gatewayMs)],
      ['the same over the bare proxy’s', 'x', slowestRatio, SLOWEST_RATIO_MAX],
      [
        'one commit on this disk, of which a request waits for two',
        'ms',
        each(({ disk }) => disk.commitMs),
      ],
      ['tollgate, added to a request beside its two commits', 'ms', besideCommits],
      ['one fsync on this disk', 'ms', each(({ disk }) => disk.fsyncMs)],
      ...addedTo('the first event of a stream', events, FIRST_EVENT_ADDED_MS_MAX),
    ])
  },
}

/** The median time of each target in one round. */
interface RoundMedians {
  readonly gatewayMs: number
  readonly bareMs: number
  readonly directMs: number
  /** The 99th percentiles. */
  readonly slowest: { readonly gatewayMs: number; readonly bareMs: number }
  /** Measured right after. */
  readonly disk: Disk
}

interface MediansInput {
  /** The gateway, the bare proxy, the simulator. */
  readonly targets: readonly Target[]
  readonly workload: Workload
  readonly timesOf: (result: LoadResult) => readonly number[]
}

async function medians(bench: Bench, input: MediansInput): Promise<RoundMedians[]> {
  const warmUp = bench.scaled({ full: 5_000, quick: 30 })
  const requests = bench.scaled({ full: 2_000, quick: 50 })
  await oneByOne(input, warmUp)
  const rounds: RoundMedians[] = []
  for (let round = 0; round < bench.rounds; round++) {
    const results = await oneByOne(input, requests)
    const [gatewayMs = 0, bareMs = 0, directMs = 0] = results.map((result) =>
      median(input.timesOf(result)),
    )
    const [slowGatewayMs = 0, slowBareMs = 0] = results.map((result) =>
      quantile(input.timesOf(result), SLOW_SHARE),
    )
    const slowest = { gatewayMs: slowGatewayMs, bareMs: slowBareMs }
    rounds.push({ gatewayMs, bareMs, directMs, slowest, disk: measureDisk(bench.folder) })
    // Look-ups of this round are not to slow the next.
    for (const target of input.targets) await settled(target)
  }
  return rounds
}

/** One request of each target after the other, so that a slow machine slows them all. */
async function oneByOne(
  { targets, workload }: MediansInput,
  requests: number,
): Promise<LoadResult[]> {
  const clients = await Promise.all(
    targets.map(async (target) => ({
      connection: await LoadConnection.open(target.address),
      sender: new Sender({ target, workload }),
    })),
  )
  for (let count = 0; count < requests; count++) {
    for (const { connection, sender } of clients) await sender.send(connection)
  }
  return clients.map(({ connection, sender }) => {
    connection.close()
    return sender.result()
  })
}

/** By position: whose latency, and its rounds; the budget is the gateway's. */
function addedTo(
  of: string,
  rounds: readonly RoundMedians[],
  addedMsMax: number,
): readonly MeasureRow[] {
  const gatewayMs = rounds.map((round) => round.gatewayMs - round.directMs)
  return [
    [`tollgate, added to ${of}`, 'ms', gatewayMs, addedMsMax],
    [`bare proxy, added to ${of}`, 'ms', rounds.map((round) => round.bareMs - round.directMs)],
    [`the provider itself, ${of}`, 'ms', rounds.map(({ directMs }) => directMs)],
  ]
}
