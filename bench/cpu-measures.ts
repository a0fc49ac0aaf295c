import { type Measure, measure } from './measure.ts'
import { cpuMicrosPerLookup, cpuMicrosPerRequest, type Round } from './rounds.ts'
import { median, pairedRatios } from './statistics.ts'

export interface CpuMeasuresInput {
  /** What is counted: `request`, `stream`. */
  readonly noun: string
  readonly gateway: readonly Round[]
  readonly bare: readonly Round[]
  /** The most that the gateway may take of the bare proxy's time; null: shown, and not judged. */
  readonly ratioMax: number | null
}

/**
 * Processor time of the gateway and of the bare proxy, and their quotient: once with the look-up that
 * the gateway makes of each request a second later, once without.
 */
export function cpuMeasures({ noun, gateway, bare, ratioMax }: CpuMeasuresInput): Measure[] {
  const [over, under] = [cpuMicrosPerRequest(gateway), cpuMicrosPerRequest(bare)]
  const lookup = cpuMicrosPerLookup(gateway)
  const lookupMicros = lookup.length === 0 ? 0 : median(lookup)
  const served = over.map((micros) => micros - lookupMicros)
  return [
    measure({ name: `tollgate, CPU a ${noun}`, unit: 'µs', values: over }),
    measure({
      name: 'of it, on the main thread',
      unit: 'µs',
      values: gateway.map(({ mainThreadCpuMs, requests }) => (mainThreadCpuMs * 1_000) / requests),
    }),
    ...(lookup.length === 0
      ? []
      : [measure({ name: 'of it, the look-up afterwards', unit: 'µs', values: lookup })]),
    measure({ name: `bare proxy, CPU a ${noun}`, unit: 'µs', values: under }),
    measure({
      name: `CPU a ${noun} over the bare proxy’s`,
      unit: 'x',
      values: pairedRatios({ over, under }),
      budget: ratioMax,
    }),
    measure({
      name: 'the same without the look-up',
      unit: 'x',
      values: pairedRatios({ over: served, under }),
    }),
    measure({
      name: `tollgate, one core’s time carries ${noun}s`,
      unit: 'per second',
      values: over.map((micros) => 1_000_000 / micros),
    }),
  ]
}
