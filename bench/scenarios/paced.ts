import type { Scenario } from '../bench.ts'
import { type HeldStreams, heldStreams } from '../held-streams.ts'
import { type Measure, measuresOf } from '../measure.ts'
import { settled } from '../rounds.ts'
import { pairedRatios, quantile } from '../statistics.ts'
import type { Target } from '../target.ts'
import { chatWorkload, streamBody } from '../workloads.ts'

const STREAM_MS = 5_000
const WINDOW_MS = 6_000
const MB = 1024 * 1024

interface PacedInput {
  readonly name: string
  readonly streams: number
  readonly intervalMs: number
  /** Null: shown, and not judged. */
  readonly budgets: Budgets | null
  readonly runs: Scenario['runs']
  /** The most rounds of it; a run may have fewer. */
  readonly roundsMax: number
}

interface Budgets {
  readonly cpuRatioMax: number
  readonly residentMbMax: number
  readonly firstEventMedianMsMax: number
  readonly firstEventRatioMax: number
}

function paced(input: PacedInput): Scenario {
  const { name, streams, intervalMs } = input
  return {
    name,
    summary: `${streams.toLocaleString('en')} streams at once, an event every ${intervalMs} ms in each`,
    runs: input.runs,
    async run(bench) {
      const simulator = await bench.simulator()
      const targets = [await bench.gateway(), await bench.bareProxy(), simulator]
      const events = bench.scaled({ full: STREAM_MS, quick: STREAM_MS / 5 }) / intervalMs
      const workload = await chatWorkload(simulator, streamBody({ events, intervalMs }))
      const round = async (target: Target): Promise<HeldStreams> => {
        const held = await heldStreams({
          target,
          workload,
          streams,
          rampMs: events * intervalMs,
          windowMs: bench.scaled({ full: WINDOW_MS, quick: WINDOW_MS / 6 }),
        })
        await settled(target)
        return held
      }
      const results = targets.map((): HeldStreams[] => [])
      const rounds = bench.scaled({ full: Math.min(bench.rounds, input.roundsMax), quick: 1 })
      for (let count = 0; count < rounds; count++) {
        const places = [...targets.entries()]
        if (count % 2 === 1) places.reverse()
        for (const [place, target] of places) results[place]?.push(await round(target))
      }
      const [over = [], under = [], direct = []] = results
      return measuresOfStreams({ over, under, direct }, input)
    },
  }
}

interface Compared {
  readonly over: readonly HeldStreams[]
  readonly under: readonly HeldStreams[]
  /** Without anything between. */
  readonly direct: readonly HeldStreams[]
}

type FigureOf = (round: HeldStreams) => number

function measuresOfStreams(
  { over, under, direct }: Compared,
  { intervalMs, budgets }: Pick<PacedInput, 'intervalMs' | 'budgets'>,
): Measure[] {
  const perEvent: FigureOf = ({ cpuMs, events }) => (cpuMs * 1_000) / events
  const carried: FigureOf = ({ cpuMs, events }) => (events * intervalMs) / cpuMs
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
  const { cpuRatioMax, residentMbMax, firstEventMedianMsMax, firstEventRatioMax } = budgets ?? {}
  return measuresOf([
    ['tollgate, events', 'per second', over.map(perSecond)],
    ['bare proxy, events', 'per second', under.map(perSecond)],
    ['the provider itself, events', 'per second', direct.map(perSecond)],
    ['tollgate, CPU', 'of a core', over.map(ofACore)],
    ['bare proxy, CPU', 'of a core', under.map(ofACore)],
    ['tollgate, CPU an event', 'µs', over.map(perEvent)],
    ['tollgate, one core’s time carries', 'streams', over.map(carried)],
    ['CPU an event over the bare proxy’s', 'x', ratios(perEvent), cpuRatioMax],
    ['tollgate, memory at its most', 'MB', over.map(residentMb), residentMbMax],
    [`tollgate, ${median}`, 'ms', over.map(p50), firstEventMedianMsMax],
    [`bare proxy, ${median}`, 'ms', under.map(p50)],
    [`tollgate, ${slowest}`, 'ms', over.map(p99)],
    [`bare proxy, ${slowest}`, 'ms', under.map(p99)],
    [`the provider itself, ${slowest}`, 'ms', direct.map(p99)],
    ['first event, 99th percentile over the bare proxy’s', 'x', ratios(p99), firstEventRatioMax],
  ])
}

const BUDGETS: Budgets = {
  cpuRatioMax: 1.4,
  residentMbMax: 300,
  firstEventMedianMsMax: 20,
  firstEventRatioMax: 2,
}
/** Many streams at the pace of a model, with what they may cost. */
export const PACED: readonly Scenario[] = [
  paced({
    name: 'paced-1000-50',
    streams: 1_000,
    intervalMs: 50,
    budgets: BUDGETS,
    runs: 'always',
    roundsMax: 5,
  }),
  paced({
    name: 'paced-1000-20',
    streams: 1_000,
    intervalMs: 20,
    budgets: null,
    runs: 'unlessQuick',
    roundsMax: 3,
  }),
]
