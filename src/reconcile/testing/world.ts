import { NO_COUNTS } from '../../../simulator/price.ts'
import { type Simulator, startSimulator } from '../../../simulator/simulator.ts'
import {
  listUnsettled,
  type UnsettledPage,
  type UnsettledRequest,
} from '../../ledger/activity/unsettled.ts'
import type { Ledger } from '../../ledger/commands.ts'
import { LEDGER_LIMITS_DEFAULT, type SettleInput } from '../../ledger/ledger.ts'
import { FACTS, holdInput, runScript } from '../../ledger/testing/script.ts'
import { createSqliteBench, type SqliteBench } from '../../ledger/testing/sqlite-bench.ts'
import { fetchGeneration, openrouter } from '../../upstreams/openrouter/openrouter.ts'
import { upstreamSettings } from '../../upstreams/testing/upstream-settings.ts'
import { Upstream } from '../../upstreams/upstream.ts'
import { chargeForCost, formatDecimal, micros, parseDecimal } from '../../vocabulary/money.ts'
import type { RequestFacts, Resolution } from '../../vocabulary/outcome.ts'
import { type ReconcileFailure, Reconciler, type Settlement } from '../reconciler.ts'
import { type ReconcilerSettings, unsettledAfter } from '../schedule.ts'

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS

/** The moment at which every world begins. */
export const START_MS = Date.UTC(2030, 0, 1)

const SETTINGS: ReconcilerSettings = {
  settleAfterMs: 24 * HOUR_MS,
  settleAfterNoLookupMs: HOUR_MS,
  lookupsInFlightMax: 8,
}

interface Timer {
  readonly dueAtMs: number
  readonly run: () => void
}

interface ProcessInput {
  readonly settings?: Partial<ReconcilerSettings>
  /** Default the world's own ledger. */
  readonly ledger?: Pick<Ledger, 'correct'>
  readonly list?: (page: UnsettledPage) => ReturnType<typeof listUnsettled>
}

/** One process that reconciles, and a record of its actions. */
export interface ReconcileProcess {
  readonly reconciler: Reconciler
  readonly settled: Settlement[]
  readonly failures: ReconcileFailure[]
  /** Each record that was not believed: its request, and why. */
  readonly doubted: string[]
  /** Each cost that was learned of a released request. */
  readonly billedLate: string[]
  /** Every look-up so far, with its time. */
  readonly asked: { readonly generationId: string; readonly atMs: number }[]
  /** The most look-ups that ran at once. */
  readonly inFlightMost: number
  /** The limit of each page that was read. */
  readonly pageLimits: number[]
  readonly timers: Set<Timer>
}

/** A real store and a simulator, under a clock that a test moves. */
export interface ReconcileWorld {
  nowMs: number
  readonly bench: SqliteBench
  readonly simulator: Simulator
  startProcess(input?: ProcessInput): ReconcileProcess
  /** A process that has begun, and has looked at what was left before. */
  running(input?: ProcessInput): Promise<ReconcileProcess>
  /** Lets time pass up to a moment: each timer of a process runs at its own, and does its work. */
  passUntil(atMs: number, process: ReconcileProcess): Promise<void>
  /** Opens a hold of 1,000 micro-dollars and settles it like this, now. */
  leave(
    requestId: string,
    resolution: Resolution,
    facts?: Partial<RequestFacts>,
  ): Promise<UnsettledRequest>
  /** Leaves requests R0 and on, each provisional at 500 and known to the provider at 210. */
  leaveMany(count: number, first?: number): Promise<readonly UnsettledRequest[]>
  /** The simulator ran it, at this cost. */
  ran(generationId: string, totalUsd: number): void
  /** `state charge`, in micro-dollars. */
  show(requestId: string): Promise<string>
  close(): Promise<void>
}

/** A provisional charge for this cost in dollars. */
export function provisional(generationId: string, cost: string): Resolution {
  const costUsd = parseDecimal(cost)
  const chargeMicros = costUsd === null ? null : chargeForCost(costUsd, 500)
  if (costUsd === null || chargeMicros === null) throw new Error(`not a cost: ${cost}`)
  return { kind: 'provisional', chargeMicros, costUsd, generationId }
}

/** A provisional charge that is an estimate, in micro-dollars. */
export function estimated(generationId: string, chargeMicros: number): Resolution {
  return { kind: 'provisional', chargeMicros: micros(chargeMicros), costUsd: null, generationId }
}

/** An ending that leaves the hold unresolved. */
export function unresolved(generationId: string | null): Resolution {
  return { kind: 'unresolved', generationId }
}

/** The result of a settlement, in a line. */
export function describeSettlement({ requestId, correction, corrected }: Settlement): string {
  const cost = 'costUsd' in correction && correction.costUsd !== null
  const why = cost ? formatDecimal(correction.costUsd) : correction.kind
  return `${requestId} ${corrected.state} ${corrected.chargedMicros} (${why}, ${corrected.differenceMicros})`
}

export async function createReconcileWorld(): Promise<ReconcileWorld> {
  const simulator = await startSimulator()
  const bench = await createSqliteBench({
    limits: { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 100_000, keyRequestsPerMinuteMax: 100_000 },
  })
  const upstream = new Upstream(upstreamSettings({ baseUrl: simulator.baseUrl }), openrouter)
  const processes: ReconcileProcess[] = []
  const world: ReconcileWorld = {
    nowMs: START_MS,
    bench,
    simulator,
    startProcess(input = {}) {
      const process = openProcess(world, { ...input, upstream })
      processes.push(process)
      return process
    },
    async running(input) {
      const process = world.startProcess(input)
      process.reconciler.start()
      await process.reconciler.runDue()
      return process
    },
    async passUntil(atMs, process) {
      await process.reconciler.runDue()
      for (let next = earliest(process, atMs); next !== null; next = earliest(process, atMs)) {
        process.timers.delete(next)
        world.nowMs = Math.max(world.nowMs, next.dueAtMs)
        bench.nowMs = world.nowMs
        next.run()
        await process.reconciler.runDue()
      }
      world.nowMs = atMs
    },
    leave: (requestId, resolution, facts = {}) =>
      leave(world, { requestId, resolution, facts: { ...FACTS, ...facts } }),
    leaveMany(count, first = 0) {
      const places = Array.from({ length: count }, (_, place) => first + place)
      for (const place of places) world.ran(`gen-${place}`, 0.0002)
      return Promise.all(
        places.map((place) => world.leave(`R${place}`, estimated(`gen-${place}`, 500))),
      )
    },
    ran(generationId, totalUsd) {
      simulator.generations.record(generationOf(generationId, totalUsd))
    },
    async show(requestId) {
      const row = await bench.request(requestId)
      return row === undefined
        ? 'none'
        : `${row.state} ${row.backedChargeMicros + row.freeChargeMicros}`
    },
    async close() {
      await Promise.all(processes.map(({ reconciler }) => reconciler.stop()))
      await upstream.destroy()
      await simulator.close()
      await bench.auditAndClose()
    },
  }
  bench.nowMs = world.nowMs
  await runScript(bench, 'account A\nkey K A\ncredit A backed 100000000 first')
  return world
}

function openProcess(
  world: ReconcileWorld,
  { settings, ledger, list, upstream }: ProcessInput & { readonly upstream: Upstream },
): ReconcileProcess {
  const { bench } = world
  const timers = new Set<Timer>()
  const known = {
    settled: [] as Settlement[],
    failures: [] as ReconcileFailure[],
    doubted: [] as string[],
    billedLate: [] as string[],
    asked: [] as { readonly generationId: string; readonly atMs: number }[],
    pageLimits: [] as number[],
    inFlightMost: 0,
  }
  let inFlight = 0
  const reconciler = new Reconciler({
    listUnsettled(page) {
      known.pageLimits.push(page.limit)
      return list === undefined ? listUnsettled(bench.store.reports, page) : list(page)
    },
    ledger: ledger ?? {
      correct(input) {
        bench.nowMs = world.nowMs
        return bench.ledger.correct(input)
      },
    },
    async fetchGeneration(input) {
      known.asked.push({ generationId: input.generationId, atMs: world.nowMs })
      inFlight++
      known.inFlightMost = Math.max(known.inFlightMost, inFlight)
      const answer = await fetchGeneration(upstream, input)
      inFlight--
      return answer
    },
    clock: { nowMs: () => world.nowMs },
    settings: { ...SETTINGS, ...settings },
    onSettled: (settlement) => known.settled.push(settlement),
    onFailure: (failure) => known.failures.push(failure),
    onBilledLate: ({ requestId, costUsd }) =>
      known.billedLate.push(`${requestId} ${formatDecimal(costUsd)}`),
    onEndpointMissing: () => {},
    onDoubted: ({ requestId, doubt }) => known.doubted.push(`${requestId} ${doubt}`),
    startTimer({ delayMs, run }) {
      const timer = { dueAtMs: world.nowMs + delayMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
  return Object.assign(known, { reconciler, timers })
}

function earliest({ timers }: ReconcileProcess, atMs: number): Timer | null {
  let found: Timer | null = null
  for (const timer of timers) {
    if (timer.dueAtMs <= (found?.dueAtMs ?? atMs)) found = timer
  }
  return found
}

async function leave(
  { bench, nowMs }: ReconcileWorld,
  input: SettleInput,
): Promise<UnsettledRequest> {
  const { requestId } = input
  bench.nowMs = nowMs
  const held = holdInput(requestId, { amountMicros: 1_000 })
  const { feeBasisPoints } = held
  const opened = await bench.ledger.openHold(held)
  if (opened.kind !== 'opened') throw new Error(opened.code)
  const settled = await bench.ledger.settle(input)
  const unsettled = unsettledAfter(settled, { input: { ...input, feeBasisPoints }, nowMs })
  if (unsettled === null) throw new Error(`${requestId} is settled`)
  return unsettled
}

function generationOf(id: string, totalUsd: number) {
  return {
    id,
    modelId: 'author/name',
    modelSlug: 'author/name',
    apiType: 'completions',
    createdMs: START_MS,
    streamed: false,
    cancelled: false,
    finishReason: 'stop',
    counts: { ...NO_COUNTS, inputTokens: 1, outputTokens: 1 },
    cost: { totalUsd, promptUsd: 0, completionUsd: totalUsd },
  } as const
}
