import { type Measure, measure } from './measure.ts'
import { cpuMicrosPerRequest, type Round } from './rounds.ts'
import { pairedRatios } from './statistics.ts'

/** The most that further upstreams may cost a request that goes to none of them. */
const UPSTREAMS_RATIO_MAX = 1.03

export interface CpuMeasuresInput {
  /** The noun that is counted: `request`, `stream`. */
  readonly noun: string
  readonly gateway: readonly Round[]
  /** Of a gateway that looks each cost up; absent: it was not measured. */
  readonly lookingAllUp?: readonly Round[]
  /** Of a gateway that may use all cores; absent: it was not measured. */
  readonly onAllCores?: readonly Round[] | undefined
  readonly bare: readonly Round[]
  /** Of a gateway on several upstreams; absent: it was not measured. */
  readonly onUpstreams?: readonly Round[] | undefined
  /** The most that the gateway may take of the bare proxy's time; null: shown, and not judged. */
  readonly ratioMax: number | null
}

/**
 * Processor time of the gateway and of the bare proxy, and their quotient, until the last request is final: with the
 * usual look-ups, and in rounds of their own with a look-up of each request.
 */
export function cpuMeasures({
  noun,
  gateway,
  lookingAllUp = [],
  bare,
  onAllCores = [],
  onUpstreams = [],
  ratioMax,
}: CpuMeasuresInput): Measure[] {
  const [over, under] = [cpuMicrosPerRequest(gateway), cpuMicrosPerRequest(bare)]
  const all = cpuMicrosPerRequest(lookingAllUp)
  const several = cpuMicrosPerRequest(onUpstreams)
  return [
    measure({ name: `tollgate, CPU a ${noun}`, unit: 'µs', values: over }),
    measure({
      name: 'of it, on the main thread',
      unit: 'µs',
      values: gateway.map(({ mainThreadCpuMs, requests }) => (mainThreadCpuMs * 1_000) / requests),
    }),
    measure({ name: `bare proxy, CPU a ${noun}`, unit: 'µs', values: under }),
    measure({
      name: `CPU a ${noun} over the bare proxy’s`,
      unit: 'x',
      values: pairedRatios({ over, under }),
      budget: ratioMax,
    }),
    ...(all.length === 0
      ? []
      : [
          measure({ name: `tollgate, CPU a ${noun}, each looked up`, unit: 'µs', values: all }),
          measure({
            name: 'the same over the bare proxy’s',
            unit: 'x',
            values: pairedRatios({ over: all, under }),
          }),
        ]),
    ...(onAllCores.length === 0
      ? []
      : [
          measure({
            name: `CPU a ${noun} over the bare proxy’s, on all cores`,
            unit: 'x',
            values: pairedRatios({ over: cpuMicrosPerRequest(onAllCores), under }),
          }),
        ]),
    ...(several.length === 0
      ? []
      : [
          measure({ name: `on several upstreams, CPU a ${noun}`, unit: 'µs', values: several }),
          measure({
            name: 'the same over that on one upstream',
            unit: 'x',
            values: pairedRatios({ over: several, under: over }),
            budget: UPSTREAMS_RATIO_MAX,
          }),
        ]),
    measure({
      name: `tollgate, one core’s time carries ${noun}s`,
      unit: 'per second',
      values: over.map((micros) => 1_000_000 / micros),
    }),
  ]
}
