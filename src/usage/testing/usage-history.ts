import fc from 'fast-check'
import { ActivityPruner } from '../../ledger/activity/activity-pruner.ts'
import { auditStore } from '../../ledger/audit/audit.ts'
import { type STORE_BENCHES, UNREACHED_LIMITS } from '../../ledger/testing/benches.ts'
import { OWNERS, SETUP } from '../../ledger/testing/random-script.ts'
import {
  FACTS,
  holdInput,
  costOfCharge as roundedCostOf,
  runScript,
} from '../../ledger/testing/script.ts'
import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { REQUESTS, type RequestRow } from '../../store/schema.ts'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import { createIdSource } from '../../vocabulary/ids.ts'
import { addDecimals, type Decimal, type Micros, micros } from '../../vocabulary/money.ts'
import type { Correction, RequestFacts, Resolution } from '../../vocabulary/outcome.ts'
import { auditUsage } from '../audit-usage.ts'
import { UsageRoller } from '../usage-roller.ts'

/** When histories begin: in the middle of a day. */
export const HISTORY_FROM_MS = Date.parse('2026-03-01T10:20:00Z')

const MODELS = ['acme/one', 'acme/two', 'other/three']
const ENDPOINTS = ['chat', 'messages']
const UPSTREAMS = ['one', 'two', 'three']
const ERROR_CODES = ['upstream_error', 'provider_rate_limited'] as const
const CREDIT = `credit A1 backed 100000 r0
credit A2 backed 300 r0
credit A2 free 400 r1 until ${HISTORY_FROM_MS / 1_000 + 30 * 3_600}`

/** Something that happens to a store with requests. */
type HistoryStep =
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'open'; readonly pick: number; readonly slowMs: number }
  | { readonly kind: 'openLate'; readonly pick: number; readonly hoursAgo: number }
  | { readonly kind: 'settle' | 'correct'; readonly pick: number; readonly resolution: Resolution }
  | { readonly kind: 'giveUp'; readonly pick: number }
  | { readonly kind: 'roll'; readonly interruptedAfter: number | null }
  | { readonly kind: 'rollTwice'; readonly interruptedAfter: number | null }
  | { readonly kind: 'prune' }

const pick = fc.nat(1_000)
const charge = fc.integer({ min: 0, max: 40 }).map(micros)
const resolution: fc.Arbitrary<Resolution> = fc.oneof(
  charge.map(finalOf),
  fc.tuple(charge, fc.boolean()).map(([chargeMicros, isEstimate]): Resolution => {
    const costUsd = isEstimate ? null : costOfCharge(chargeMicros)
    return { kind: 'provisional', chargeMicros, costUsd, generationId: 'gen' }
  }),
  fc.constant<Resolution>({ kind: 'released' }),
  fc.constant<Resolution>({ kind: 'unresolved', generationId: null }),
)
const interruptedAfter = fc.option(fc.nat(40))

const step: fc.Arbitrary<HistoryStep> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait'), minutes: fc.integer({ min: 1, max: 700 }) }),
  },
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('open'), pick, slowMs: fc.nat(900_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('openLate'),
      pick,
      hoursAgo: fc.integer({ min: 1, max: 23 }),
    }),
  },
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('settle'), pick, resolution }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('correct'), pick, resolution }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('giveUp'), pick }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('roll'), interruptedAfter }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rollTwice'), interruptedAfter }) },
  { weight: 2, arbitrary: fc.constant<HistoryStep>({ kind: 'prune' }) },
)

/** The events of a store over some days. */
export const historySteps: fc.Arbitrary<readonly HistoryStep[]> = fc.array(step, {
  minLength: 20,
  maxLength: 70,
  size: 'max',
})

/** As providers report it: with more places than a pico-dollar has. */
function costOfCharge(chargeMicros: Micros): Decimal {
  return addDecimals(roundedCostOf(chargeMicros), { digits: 3n, exponent: -15 })
}

/** A final charge. */
export function finalOf(chargeMicros: ReturnType<typeof micros>): Resolution {
  return { kind: 'final', chargeMicros, costUsd: costOfCharge(chargeMicros) }
}

/** A store with requests that are rolled up, and all requests that it ever had. */
export class UsageHistory {
  readonly bench: StoreBench
  nowMs = HISTORY_FROM_MS
  readonly #requestIds: string[] = []
  /** As they were when they were pruned. */
  readonly #pruned = new Map<string, RequestRow>()
  #idsMs = HISTORY_FROM_MS
  #random = 0
  readonly #ids = createIdSource({
    clock: { nowMs: () => this.#idsMs },
    fillRandom: (bytes) => {
      // 16 of them make an id: each id is the next number.
      for (const place of bytes.keys()) {
        const count = this.#random + Math.floor(place / 16)
        bytes[place] = Math.floor(count / 32 ** (15 - (place % 16)))
      }
      this.#random += bytes.length / 16
    },
  })

  private constructor(bench: StoreBench) {
    this.bench = bench
  }

  /** A store of an engine, with the accounts and keys of random scripts and some credit. */
  static async open(open: (typeof STORE_BENCHES)[number]['open']): Promise<UsageHistory> {
    const history = new UsageHistory(await open({ limits: UNREACHED_LIMITS }))
    await runScript(history.bench, `at ${history.nowMs / 1_000}\n${SETUP}\n${CREDIT}`)
    return history
  }

  /** Runs a random history on a separate store, and closes it. */
  static async within(
    open: (typeof STORE_BENCHES)[number]['open'],
    run: (history: UsageHistory) => Promise<void>,
  ): Promise<void> {
    const history = await UsageHistory.open(open)
    try {
      await run(history)
    } finally {
      await history.close()
    }
  }

  close(): Promise<void> {
    return this.bench.close()
  }

  async run(happens: HistoryStep): Promise<void> {
    switch (happens.kind) {
      case 'wait':
        this.wait(happens.minutes * 60_000)
        return
      case 'open':
        await this.open(happens.pick, this.nowMs - happens.slowMs)
        return
      case 'openLate':
        // Rolled up, perhaps: a clock was set back.
        await this.open(happens.pick, this.nowMs - happens.hoursAgo * HOUR_MS)
        await this.roll()
        return
      case 'settle':
        await this.settle(this.#picked(happens.pick), happens.resolution)
        return
      case 'correct': {
        const { kind } = happens.resolution
        if (kind === 'final' || kind === 'provisional') {
          await this.#correct(this.#picked(happens.pick), happens.resolution as Correction)
        }
        return
      }
      case 'giveUp':
        await this.#correct(this.#picked(happens.pick), { kind: 'givenUp' })
        return
      case 'roll':
        await this.roll(happens.interruptedAfter)
        return
      case 'rollTwice':
        await Promise.all([this.roll(happens.interruptedAfter), this.roll()])
        return
      case 'prune':
        await this.#prune()
    }
  }

  wait(byMs: number): void {
    this.nowMs += byMs
    this.bench.nowMs = this.nowMs
  }

  /** Opens a hold for a request whose id was made at a moment; returns the id. */
  async open(picked: number, idMs: number, modelId = modelOf(picked)): Promise<string> {
    this.#idsMs = idMs
    const requestId = this.#ids.next('req')
    const apiKeys = [...OWNERS]
    const [apiKeyId, accountId] = apiKeys[picked % apiKeys.length] ?? ['K1', 'A1']
    await this.bench.ledger.openHold({
      ...holdInput(requestId),
      accountId,
      apiKeyId,
      instanceId: 'I',
      modelId,
      endpoint: ENDPOINTS[picked % ENDPOINTS.length] ?? '',
      upstream: UPSTREAMS[Math.floor(picked / 3) % UPSTREAMS.length] ?? '',
      neededMicros: micros(30),
      leastMicros: micros(5),
      freeCreditQualifies: picked % 5 < 3,
      freeCreditAloneRunsOnLess: false,
    })
    this.#requestIds.push(requestId)
    return requestId
  }

  async settle(requestId: string | null, how: Resolution): Promise<void> {
    if (requestId === null) return
    const facts = this.#facts(requestId)
    await this.bench.ledger.settle({ requestId, resolution: how, facts }).catch(refused)
  }

  /** One pass of a roller that ends after some statements. */
  async roll(interruptedAfter: number | null = null): Promise<void> {
    let statements = 0
    const roller = new UsageRoller({
      store: this.bench.store,
      clock: { nowMs: () => this.nowMs },
      onRolled: () => {},
      onLate: () => {},
      onFailure: () => {},
      async pause() {
        if (statements++ === interruptedAfter) throw new Error('interrupted')
      },
    })
    await roller.pass().catch((error: Error) => {
      if (error.message !== 'interrupted') throw error
    })
  }

  /** Every request that ever opened a hold; pruned ones as they were before. */
  async requests(): Promise<readonly RequestRow[]> {
    const rows = await this.bench.db.selectFrom('all_requests').selectAll().execute()
    return [...rows.map((row) => REQUESTS.read(row)), ...this.#pruned.values()]
  }

  get hasPruned(): boolean {
    return this.#pruned.size > 0
  }

  /** Throws if the books or the roll-ups are not exact. */
  async audit(): Promise<void> {
    const audit = await auditStore(this.bench.store, { checks: [auditUsage] })
    if (!audit.ok) throw new Error(`not exact: ${JSON.stringify(audit.differences, null, 2)}`)
  }

  async #correct(requestId: string | null, correction: Correction): Promise<void> {
    if (requestId !== null) await this.bench.ledger.correct({ requestId, correction })
  }

  async #prune(): Promise<void> {
    const before = new Map((await this.requests()).map((row) => [row.id, row]))
    const pruner = new ActivityPruner({
      store: this.bench.store,
      clock: { nowMs: () => this.nowMs },
      keepDays: 1,
      onPruned: () => {},
      onFailure: () => {},
    })
    await pruner.pass()
    await pruner.stop()
    const left = await this.bench.db.selectFrom('all_requests').select('id').execute()
    for (const { id } of left) before.delete(id)
    for (const [requestId, row] of before) this.#pruned.set(requestId, row)
  }

  #picked(picked: number): string | null {
    return this.#requestIds[this.#requestIds.length - 1 - (picked % 12)] ?? null
  }

  #facts(requestId: string): RequestFacts {
    const place = this.#requestIds.indexOf(requestId)
    const count = place % 4
    return {
      ...FACTS,
      errorCode: place % 3 === 0 ? (ERROR_CODES[place % ERROR_CODES.length] ?? null) : null,
      firstByteAtMs: place % 4 === 0 ? null : this.nowMs + place * 17,
      usage:
        place % 5 === 0
          ? null
          : {
              inputTokens: place,
              cacheReadTokens: count,
              cacheWriteTokens: 1,
              cacheWriteLongTokens: 2,
              outputTokens: 10,
              reasoningTokens: count,
              imageOutputTokens: 3,
              searches: 4,
            },
    }
  }
}

function modelOf(picked: number): string {
  return MODELS[picked % MODELS.length] ?? ''
}

/** Accepts only the error of a request whose hold was refused. */
function refused(error: Error): void {
  if (error.name !== 'StoreRefused') throw error
}
