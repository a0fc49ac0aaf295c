import type { Scenario } from '../bench.ts'
import { type HeldStreams, heldStreams } from '../held-streams.ts'
import { type Measure, measure } from '../measure.ts'
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
      return measuresOf({ over, under, direct, intervalMs, budgets: input.budgets })
    },
  }
}

interface MeasuresOfInput {
  readonly over: readonly HeldStreams[]
  readonly under: readonly HeldStreams[]
  /** Without anything between. */
  readonly direct: readonly HeldStreams[]
  readonly intervalMs: number
  readonly budgets: Budgets | null
}

function measuresOf(input: MeasuresOfInput): Measure[] {
  const { over, under, direct, intervalMs, budgets } = input
  const microsPerEvent = (rounds: readonly HeldStreams[]): number[] =>
    rounds.map(({ cpuMs, events }) => (cpuMs * 1_000) / events)
  const carried = (rounds: readonly HeldStreams[]): number[] =>
    rounds.map(({ cpuMs, events }) => (events * intervalMs) / cpuMs)
  const ofACore = (rounds: readonly HeldStreams[]): number[] =>
    rounds.map(({ cpuMs, windowMs }) => cpuMs / windowMs)
  const firstEvent = (rounds: readonly HeldStreams[], share: number): number[] =>
    rounds.map(({ firstEventMs }) => quantile(firstEventMs, share))
  const p50 = (rounds: readonly HeldStreams[]): number[] => firstEvent(rounds, 0.5)
  const p99 = (rounds: readonly HeldStreams[]): number[] => firstEvent(rounds, 0.99)
  const perEvent = { over: microsPerEvent(over), under: microsPerEvent(under) }
  const perSecond = (rounds: readonly HeldStreams[]): number[] =>
    rounds.map(({ events, windowMs }) => (events * 1_000) / windowMs)
  return [
    measure({ name: 'tollgate, events', unit: 'per second', values: perSecond(over) }),
    measure({ name: 'bare proxy, events', unit: 'per second', values: perSecond(under) }),
    measure({ name: 'the provider itself, events', unit: 'per second', values: perSecond(direct) }),
    measure({ name: 'tollgate, CPU', unit: 'of a core', values: ofACore(over) }),
    measure({ name: 'bare proxy, CPU', unit: 'of a core', values: ofACore(under) }),
    measure({ name: 'tollgate, CPU an event', unit: 'µs', values: perEvent.over }),
    measure({ name: 'tollgate, one core’s time carries', unit: 'streams', values: carried(over) }),
    measure({
      name: 'CPU an event over the bare proxy’s',
      unit: 'x',
      values: pairedRatios(perEvent),
      budget: budgets?.cpuRatioMax ?? null,
    }),
    measure({
      name: 'tollgate, memory at its most',
      unit: 'MB',
      values: over.map(({ residentPeakBytes }) => residentPeakBytes / MB),
      budget: budgets?.residentMbMax ?? null,
    }),
    measure({
      name: 'tollgate, first event after the ramp, median',
      unit: 'ms',
      values: p50(over),
      budget: budgets?.firstEventMedianMsMax ?? null,
    }),
    measure({
      name: 'bare proxy, first event after the ramp, median',
      unit: 'ms',
      values: p50(under),
    }),
    measure({
      name: 'tollgate, first event after the ramp, 99th percentile',
      unit: 'ms',
      values: p99(over),
    }),
    measure({
      name: 'bare proxy, first event after the ramp, 99th percentile',
      unit: 'ms',
      values: p99(under),
    }),
    measure({
      name: 'the provider itself, first event after the ramp, 99th percentile',
      unit: 'ms',
      values: p99(direct),
    }),
    measure({
      name: 'first event, 99th percentile over the bare proxy’s',
      unit: 'x',
      values: pairedRatios({ over: p99(over), under: p99(under) }),
      budget: budgets?.firstEventRatioMax ?? null,
    }),
  ]
}

const BUDGETS: Budgets = {
  cpuRatioMax: 1.4,
  residentMbMax: 300,
  firstEventMedianMsMax: 20,
  firstEventRatioMax: 2,
}
const TOLD = { budgets: null, runs: 'whenNamed', roundsMax: 3 } as const

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
  paced({ ...TOLD, name: 'paced-1000-20', streams: 1_000, intervalMs: 20, runs: 'unlessQuick' }),
  paced({ ...TOLD, name: 'paced-100-50', streams: 100, intervalMs: 50 }),
  paced({ ...TOLD, name: 'paced-100-20', streams: 100, intervalMs: 20 }),
]
