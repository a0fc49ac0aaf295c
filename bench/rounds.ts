import { closedLoop, type LoadResult, type Workload } from './load.ts'
import type { Target } from './target.ts'

/** What one round cost one target. */
export interface Round extends LoadResult {
  /** From the first request to the last answer. */
  readonly wallMs: number
  /** Processor time from the first request until nothing of the round is left to do. */
  readonly cpuMs: number
  /** Of it, on the main thread. */
  readonly mainThreadCpuMs: number
  /** The same of its database server; 0 where it has none. */
  readonly serverCpuMs: number
  /** What came after the last answer: look-ups at the provider. */
  readonly afterwards: { readonly cpuMs: number; readonly lookups: number }
}

export interface InterleaveInput {
  readonly targets: readonly Target[]
  readonly rounds: number
  /** One round of one target. */
  readonly run: (target: Target) => Promise<LoadResult>
}

/**
 * Runs rounds of several targets in turns, first forwards and then backwards, so that what else the
 * machine does at a time affects them all. Resolves with the rounds of each, in the targets' order.
 */
export async function interleave({ targets, rounds, run }: InterleaveInput): Promise<Round[][]> {
  const results = targets.map((): Round[] => [])
  for (let round = 0; round < rounds; round++) {
    const places = [...targets.entries()]
    if (round % 2 === 1) places.reverse()
    for (const [place, target] of places) {
      const serverStartCpuMs = target.server?.cpuMs() ?? 0
      const startCpuMs = target.tree.cpuMs()
      const mainThreadStartCpuMs = target.tree.mainThreadCpuMs()
      const startedAtMs = performance.now()
      const result = await run(target)
      const wallMs = performance.now() - startedAtMs
      const answeredCpuMs = target.tree.cpuMs()
      const lookups = await settled(target)
      const endCpuMs = target.tree.cpuMs()
      results[place]?.push({
        ...result,
        wallMs,
        cpuMs: endCpuMs - startCpuMs,
        mainThreadCpuMs: target.tree.mainThreadCpuMs() - mainThreadStartCpuMs,
        serverCpuMs: (target.server?.cpuMs() ?? 0) - serverStartCpuMs,
        afterwards: { cpuMs: endCpuMs - answeredCpuMs, lookups },
      })
    }
  }
  return results
}

const SETTLED_TIMEOUT_MS = 600_000
const LOOK_AGAIN_MS = 50

/** Waits until a target has looked up what it answered; resolves with how many had to be. */
export async function settled({ countUnsettled, witness }: Target): Promise<number> {
  if (countUnsettled === null) return 0
  const startedAtMs = performance.now()
  const lookups = await countUnsettled()
  while ((await countUnsettled()) > 0) {
    if (performance.now() - startedAtMs > SETTLED_TIMEOUT_MS) {
      witness.failed('requests are not final ten minutes after the last answer')
      break
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
  return lookups
}

/** Processor time of each round's requests with all that follows them, in microseconds. */
export function cpuMicrosPerRequest(rounds: readonly Round[]): number[] {
  return rounds.map(({ cpuMs, requests }) => (cpuMs * 1_000) / requests)
}

/** The same of the database server. */
export function serverMicrosPerRequest(rounds: readonly Round[]): number[] {
  return rounds.map(({ serverCpuMs, requests }) => (serverCpuMs * 1_000) / requests)
}

/** Processor time of a look-up in each round, by those that came after its last answer; microseconds. */
export function cpuMicrosPerLookup(rounds: readonly Round[]): number[] {
  return rounds
    .filter(({ afterwards }) => afterwards.lookups > 0)
    .map(({ afterwards: { cpuMs, lookups } }) => (cpuMs * 1_000) / lookups)
}

export interface WarmInput {
  readonly targets: readonly Target[]
  readonly workload: Workload
  readonly requests: number
}

/** Sends uncounted requests to warm the targets: code is compiled by requests, not by seconds. */
export async function warm({ targets, workload, requests }: WarmInput): Promise<void> {
  for (const target of targets) {
    await closedLoop({ target, workload, requests, clients: 16 })
    await settled(target)
  }
}
