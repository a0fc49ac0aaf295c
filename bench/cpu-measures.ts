import type { Bench } from './bench.ts'
import { type Measure, type MeasureRow, measuresOf } from './measure.ts'
import { type CompareInput, compare, cpuMicrosPerRequest, type Round } from './rounds.ts'
import { pairedRatios } from './statistics.ts'

interface CpuMeasuresInput {
  /** The noun that is counted: `request`, `stream`. */
  readonly noun: string
  readonly gateway: readonly Round[]
  /** The rounds of a gateway that looks each cost up; absent: it was not measured. */
  readonly lookingAllUp?: readonly Round[]
  /** The rounds of a gateway that may use all cores; absent: it was not measured. */
  readonly onAllCores?: readonly Round[] | undefined
  readonly bare: readonly Round[]
  /** The most that the gateway may take of the bare proxy's time; null: shown, and not judged. */
  readonly ratioMax: number | null
}

/** Compares the gateway in all its ways with the bare proxy under one load. Also resolves with the gateway's rounds. */
export async function compareGateways(
  bench: Bench,
  input: CompareInput & Pick<CpuMeasuresInput, 'noun' | 'ratioMax'>,
): Promise<{ readonly gateway: readonly Round[]; readonly measures: readonly Measure[] }> {
  const { noun, ratioMax } = input
  const allCores = await bench.onAllCores()
  const own = [await bench.gateway(), await bench.bareProxy(), await bench.lookingAllUp()]
  const targets = [...own, ...allCores]
  const [gateway = [], bare = [], lookingAllUp = [], onAllCores] = await compare(bench, {
    ...input,
    targets,
  })
  const rounds = { gateway, bare, lookingAllUp, onAllCores }
  return { gateway, measures: cpuMeasures({ noun, ...rounds, ratioMax }) }
}

/**
 * Processor time of the gateway and of the bare proxy, and their quotient, until the last request is final: with the
 * usual look-ups, and in rounds of their own with a look-up of each request.
 */
export function cpuMeasures(input: CpuMeasuresInput): Measure[] {
  const { noun, gateway, lookingAllUp = [], bare, onAllCores = [] } = input
  const [over, under] = [cpuMicrosPerRequest(gateway), cpuMicrosPerRequest(bare)]
  const all = cpuMicrosPerRequest(lookingAllUp)
  const mainThread = gateway.map((round) => (round.mainThreadCpuMs * 1_000) / round.requests)
  const ratios = (values: readonly number[]) =>
    values.length === 0 ? [] : pairedRatios({ over: values, under })
  const overBare = `CPU a ${noun} over the bare proxy’s`
  const measured: readonly MeasureRow[] = [
    [`tollgate, CPU a ${noun}, each looked up`, 'µs', all],
    ['the same over the bare proxy’s', 'x', ratios(all)],
    [`${overBare}, on all cores`, 'x', ratios(cpuMicrosPerRequest(onAllCores))],
  ]
  return measuresOf([
    [`tollgate, CPU a ${noun}`, 'µs', over],
    ['of it, on the main thread', 'µs', mainThread],
    [`bare proxy, CPU a ${noun}`, 'µs', under],
    [overBare, 'x', pairedRatios({ over, under }), input.ratioMax],
    ...measured.filter(([, , values]) => values.length > 0),
    [
      `tollgate, one core’s time carries ${noun}s`,
      'per second',
      over.map((micros) => 1_000_000 / micros),
    ],
  ])
}
