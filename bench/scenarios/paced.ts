import type { Scenario } from '../bench.ts'
import { type HeldStreams, heldStreams } from '../held-streams.ts'
import { type Measure, measuresOf } from '../measure.ts'
import { inTurns, settled } from '../rounds.ts'
import { pairedRatios, quantile } from '../statistics.ts'
import { chatWorkload, streamBody } from '../workloads.ts'

const STREAMS = 1_000
const INTERVAL_MS = 50
const STREAM_MS = 5_000
const WINDOW_MS = 6_000
// A round takes long: with more of them, a run would.
const ROUNDS_MAX = 5
const MB = 1024 * 1024

/** Many streams at the pace of a model, with their budgets. */
export const PACED: Scenario = {
  name: 'paced-1000-50',
  summary: '1,000 streams at once, an event every 50 ms in each',
  runs: 'always',
  async run(bench) {
    const simulator = await bench.simulator()
    const events = bench.scaled({ full: STREAM_MS, quick: STREAM_MS / 5 }) / INTERVAL_MS
    const body = streamBody({ events, intervalMs: INTERVAL_MS })
    const workload = await chatWorkload(simulator, body)
    const [over = [], under = [], direct = []] = await inTurns({
      targets: [await bench.gateway(), await bench.bareProxy(), simulator],
      rounds: Math.min(bench.rounds, ROUNDS_MAX),
      async run(target) {
        const held = await heldStreams({
          target,
          workload,
          streams: STREAMS,
          rampMs: events * INTERVAL_MS,
          windowMs: bench.scaled({ full: WINDOW_MS, quick: WINDOW_MS / 6 }),
        })
        await settled(target)
        return held
      },
    })
    return measuresOfStreams({ over, under, direct })
  },
}

interface Compared {
  readonly over: readonly HeldStreams[]
  readonly under: readonly HeldStreams[]
  /** Without anything between. */
  readonly direct: readonly HeldStreams[]
}

type FigureOf = (round: HeldStreams) => number

function measuresOfStreams({ over, under, direct }: Compared): Measure[] {
  const perEvent: FigureOf = ({ cpuMs, events }) => (cpuMs * 1_000) / events
  const carried: FigureOf = ({ cpuMs, events }) => (events * INTERVAL_MS) / cpuMs
  const ofACore: FigureOf = ({ cpuMs, windowMs }) => cpuMs / windowMs
  const perSecond: FigureOf = ({ events, windowMs }) => (events * 1_000) / windowMs
  const residentMb: FigureOf = ({ residentPeakBytes }) => residentPeakBytes / MB
  const p50: FigureOf = ({ firstEventMs }) => quantile(firstEventMs, 0.5)
  const p99: FigureOf = ({ firstEventMs }) => quantile(firstEventMs, 0.99)
  const ratios = (figureOf: FigureOf): number[] =>
    pairedRatios({ over: over.map(figureOf), under: under.map(figureOf) })
  const [median, slowest] = ['median', '99th percentile'].map(
    (figure) => `first event after the ramp, ${figure}`,
  )
  return measuresOf([
    ['tollgate, events', 'per second', over.map(perSecond)],
    ['bare proxy, events', 'per second', under.map(perSecond)],
    ['the provider itself, events', 'per second', direct.map(perSecond)],
    ['tollgate, CPU', 'of a core', over.map(ofACore)],
    ['bare proxy, CPU', 'of a core', under.map(ofACore)],
    ['tollgate, CPU an event', 'µs', over.map(perEvent)],
    ['tollgate, one core’s time carries', 'streams', over.map(carried)],
    ['CPU an event over the bare proxy’s', 'x', ratios(perEvent), 1.4],
    ['tollgate, memory at its most', 'MB', over.map(residentMb), 300],
    [`tollgate, ${median}`, 'ms', over.map(p50), 20],
    [`bare proxy, ${median}`, 'ms', under.map(p50)],
    [`tollgate, ${slowest}`, 'ms', over.map(p99)],
    [`bare proxy, ${slowest}`, 'ms', under.map(p99)],
    [`the provider itself, ${slowest}`, 'ms', direct.map(p99)],
    ['first event, 99th percentile over the bare proxy’s', 'x', ratios(p99), 2],
  ])
}
