import { setTimeout as delay } from 'node:timers/promises'
import { closedLoop, type LoadResult, type Workload } from './load.ts'
import type { Target } from './target.ts'

/** The cost of one round for one target. */
export interface Round extends LoadResult {
  /** From the first request to the last answer. */
  readonly wallMs: number
  /** Processor time from the first request until nothing of the round is left to do. */
  readonly cpuMs: number
  /** The part on the main thread. */
  readonly mainThreadCpuMs: number
  /** Processor time of its database server; 0 if it has none. */
  readonly serverCpuMs: number
}

interface TurnsInput<Result> {
  readonly targets: readonly Target[]
  readonly rounds: number
  /** One round of one target. */
  readonly run: (target: Target) => Promise<Result>
}

/**
 * Runs rounds of several targets in turns, first forwards and then backwards, so that what else the
 * machine does at a time affects them all. Resolves with the results of each, in the targets' order.
 */
export async function inTurns<Result>(input: TurnsInput<Result>): Promise<Result[][]> {
  const { targets, rounds, run } = input
  const results = targets.map((): Result[] => [])
  for (let round = 0; round < rounds; round++) {
    const places = [...targets.entries()]
    if (round % 2 === 1) places.reverse()
    for (const [place, target] of places) results[place]?.push(await run(target))
  }
  return results
}

/** Runs rounds in turns, and times each until nothing of it is left to do. */
export function interleave({ run, ...input }: TurnsInput<LoadResult>): Promise<Round[][]> {
  return inTurns({
    ...input,
    async run(target) {
      const serverStartCpuMs = target.server?.cpuMs() ?? 0
      const startCpuMs = target.tree.cpuMs()
      const mainThreadStartCpuMs = target.tree.mainThreadCpuMs()
      const startedAtMs = performance.now()
      const result = await run(target)
      const wallMs = performance.now() - startedAtMs
      await settled(target)
      const endCpuMs = target.tree.cpuMs()
      return {
        ...result,
        wallMs,
        cpuMs: endCpuMs - startCpuMs,
        mainThreadCpuMs: target.tree.mainThreadCpuMs() - mainThreadStartCpuMs,
        serverCpuMs: (target.server?.cpuMs() ?? 0) - serverStartCpuMs,
      }
    },
  })
}

const SETTLED_TIMEOUT_MS = 600_000
const LOOK_AGAIN_MS = 50

/** Waits until all that a target answered is final. */
export async function settled({ countUnsettled, witness }: Target): Promise<void> {
  if (countUnsettled === null) return
  const startedAtMs = performance.now()
  while ((await countUnsettled()) > 0) {
    if (performance.now() - startedAtMs > SETTLED_TIMEOUT_MS) {
      witness.failed('requests are not final ten minutes after the last answer')
      break
    }
    await delay(LOOK_AGAIN_MS)
  }
}

/** Processor time of each round's requests with all that follows them, in microseconds. */
export function cpuMicrosPerRequest(rounds: readonly Round[]): number[] {
  return rounds.map(({ cpuMs, requests }) => (cpuMs * 1_000) / requests)
}

/** The database server's processor time of a request, in microseconds, for each round. */
export function serverMicrosPerRequest(rounds: readonly Round[]): number[] {
  return rounds.map(({ serverCpuMs, requests }) => (serverCpuMs * 1_000) / requests)
}

// A batch that takes this part of the one before is no notably better compiled.
const QUIET_SHARE = 0.95
// On a noisy machine, an early batch can seem no cheaper than the one before it.
const WARM_BATCHES_MIN = 4
const WARM_BATCHES_MAX = 8
const WARM_CLIENTS = 16

/** Sizes of a usual and of a quick run. */
interface Sizes {
  readonly full: number
  readonly quick: number
}

export interface CompareInput {
  readonly workload: Workload
  readonly clients: number
  /** Uncounted requests, in each batch; a quick run, whose times say nothing, sends none. */
  readonly warmUp: number
  /** In each round. */
  readonly requests: Sizes
}

/** Sends a load to several targets in turns, once their code is compiled. The rounds are in the targets' order. */
export async function compare(
  bench: { readonly rounds: number; scaled(sizes: Sizes): number },
  input: CompareInput & { readonly targets: readonly Target[] },
): Promise<Round[][]> {
  const { targets, workload, clients } = input
  await warm(bench, input)
  const requests = bench.scaled(input.requests)
  const run = (target: Target) => closedLoop({ target, workload, requests, clients })
  return interleave({ targets, rounds: bench.rounds, run })
}

/**
 * Sends uncounted requests until the compiler is quiet: at least four batches, until one takes hardly less processor
 * time than the one before it, or eight were sent. A quick run sends none.
 */
export async function warm(
  bench: { scaled(sizes: Sizes): number },
  input: Pick<CompareInput, 'workload' | 'warmUp'> & { readonly targets: readonly Target[] },
): Promise<void> {
  const { workload, warmUp: requests } = input
  const batchesMax = bench.scaled({ full: WARM_BATCHES_MAX, quick: 0 })
  for (const target of input.targets) {
    let earlierMs = Number.POSITIVE_INFINITY
    for (let batch = 1; batch <= batchesMax; batch++) {
      const startMs = target.tree.cpuMs()
      await closedLoop({ target, workload, requests, clients: WARM_CLIENTS })
      await settled(target)
      const tookMs = target.tree.cpuMs() - startMs
      if (batch >= WARM_BATCHES_MIN && tookMs >= QUIET_SHARE * earlierMs) break
      earlierMs = tookMs
    }
  }
}
