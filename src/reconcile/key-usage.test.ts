import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { FACTS, holdInput, runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import type { KeyUsageAnswer } from '../upstreams/provider-records.ts'
import { MINUTE_MS } from '../vocabulary/clock.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { chargeForCost, type Decimal, micros } from '../vocabulary/money.ts'
import type { Resolution } from '../vocabulary/outcome.ts'
import { wholeOf } from './doubts.ts'
import { KeyUsage, type KeyUsageLook, usageAgrees } from './key-usage.ts'

const START_MS = Date.UTC(2030, 0, 1)

test('a rise agrees with the booked costs within a cent or 0.1%, plus at most the unsure costs', () => {
  const amount = fc.integer({ min: 0, max: 1_000_000_000 }).map(micros)
  fc.assert(
    fc.property(amount, amount, amount, (riseMicros, bookedMicros, unsureMicros) => {
      const slackMicros = Math.max(10_000, bookedMicros / 1_000)
      const isWithin =
        riseMicros - bookedMicros >= -slackMicros &&
        riseMicros - bookedMicros - unsureMicros <= slackMicros
      expect(usageAgrees({ riseMicros, bookedMicros, unsureMicros })).toBe(isWithin)
    }),
  )
  const exact = { bookedMicros: micros(5_000_000), unsureMicros: micros(0) }
  expect(usageAgrees({ ...exact, riseMicros: micros(5_010_000) })).toBe(true)
  expect(usageAgrees({ ...exact, riseMicros: micros(5_010_001) })).toBe(false)
  expect(usageAgrees({ ...exact, riseMicros: micros(4_989_999) })).toBe(false)
})

/** A key at an upstream, and a store that records its requests. */
class World {
  readonly bench: StoreBench
  readonly looks: KeyUsageLook[] = []
  readonly reports: string[] = []
  answer: KeyUsageAnswer | null = null
  nowMs = START_MS
  #usedMicros = 0n
  #requests = 0
  readonly usage: KeyUsage

  constructor(bench: StoreBench) {
    this.bench = bench
    const clock = { nowMs: () => this.nowMs }
    this.usage = new KeyUsage({
      upstream: 'openrouter',
      fetchKeyUsage: async () =>
        this.answer ?? { kind: 'found', usageUsd: this.#usd(), leftUsd: null },
      db: bench.store.reports,
      clock,
      doubts: {
        differed: async (unit) => {
          expect(unit).toEqual(wholeOf('openrouter'))
          this.reports.push('differed')
        },
        agreed: async (_unit, agreedMin) => {
          expect(agreedMin).toBe(3)
          this.reports.push('agreed')
        },
      },
      onPass: (look) => this.looks.push(look),
    })
  }

  #usd(): Decimal {
    return { digits: this.#usedMicros, exponent: -6 }
  }

  /** Another program uses the key, or the upstream counts unreported usage. */
  use(usedMicros: number): void {
    this.#usedMicros += BigInt(usedMicros)
  }

  async look(): Promise<KeyUsageLook['kind'] | undefined> {
    await this.usage.look()
    return this.looks.at(-1)?.kind
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.bench.nowMs = this.nowMs
  }

  /** Runs a request that takes a second. Null: its cost stays unknown. */
  async run(costMicros: number | null, { usedMicros = costMicros ?? 0 } = {}): Promise<string> {
    const requestId = await this.open()
    this.pass(1_000)
    this.use(usedMicros)
    await this.settle(requestId, costMicros)
    return requestId
  }

  async open(): Promise<string> {
    this.bench.nowMs = this.nowMs
    const number = String(++this.#requests).padStart(16, '0')
    const requestId = `${firstIdOf({ prefix: 'req', timeMs: this.nowMs })}${number}`
    await this.bench.ledger.openHold(holdInput(requestId, { amountMicros: 1_050_000 }))
    return requestId
  }

  async settle(requestId: string, costMicros: number | null): Promise<void> {
    const resolution: Resolution =
      costMicros === null ? { kind: 'unresolved', generationId: 'gen-1' } : costOf(costMicros)
    await this.bench.ledger.settle({ requestId, resolution, facts: FACTS })
  }
}

function costOf(costMicros: number): Resolution {
  const costUsd: Decimal = { digits: BigInt(costMicros), exponent: -6 }
  const chargeMicros = chargeForCost(costUsd, 500) ?? micros(0)
  return { kind: 'provisional', chargeMicros, costUsd, generationId: 'gen-1', stands: true }
}

describe.each(STORE_BENCHES)("the usage of the upstream's key, on $engine", ({ open }) => {
  async function within(run: (world: World) => Promise<void>): Promise<void> {
    const bench = await open({
      limits: { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 10_000 },
    })
    bench.nowMs = START_MS
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000000000 r')
    try {
      await run(new World(bench))
    } finally {
      await bench.close()
    }
  }

  /** Five minutes in which requests were run, between two looks. */
  async function refresh(world: World, run: () => Promise<unknown>) {
    world.pass(2 * MINUTE_MS)
    await run()
    world.pass(3 * MINUTE_MS)
    return world.look()
  }

  test('agrees if it rose by the booked costs, and differs otherwise', () =>
    within(async (world) => {
      world.use(7_000_000)
      expect(await world.look()).toBe('nothing')
      expect(await refresh(world, () => world.run(400_000))).toBe('nothing')
      expect(await refresh(world, () => world.run(500_000))).toBe('agrees')
      // A request that the upstream bills for more than its answer said, and one for less.
      expect(await refresh(world, () => world.run(400_000, { usedMicros: 420_000 }))).toBe('agrees')
      expect(await refresh(world, () => world.run(400_000, { usedMicros: 380_000 }))).toBe(
        'differs',
      )
      expect(await refresh(world, () => world.run(400_000))).toBe('differs')
      expect(await refresh(world, async () => {})).toBe('agrees')
      expect(await refresh(world, async () => world.use(20_000))).toBe('nothing')
      expect(await refresh(world, async () => {})).toBe('differs')
      expect(world.reports).toEqual([
        'agreed',
        'agreed',
        'differed',
        'differed',
        'agreed',
        'differed',
      ])
    }))

  test('can also have risen by unsettled requests and requests that ran at either end, and by no more', () =>
    within(async (world) => {
      await world.look()
      const long = await world.open()
      await refresh(world, () => world.run(null, { usedMicros: 900_000 }))
      expect(await refresh(world, async () => {})).toBe('agrees')
      world.use(300_000)
      world.pass(1_000)
      await world.settle(long, 300_000)
      expect(await refresh(world, () => world.run(100_000))).toBe('nothing')
      expect(await refresh(world, async () => {})).toBe('agrees')
      expect(await refresh(world, () => world.run(null, { usedMicros: 1_200_000 }))).toBe('nothing')
      expect(await refresh(world, async () => {})).toBe('differs')
    }))

  test('gives no result if it was set back, is missing, or cannot be read', () =>
    within(async (world) => {
      await world.look()
      world.use(-1)
      world.answer = { kind: 'found', usageUsd: { digits: 0n, exponent: 0 }, leftUsd: null }
      await refresh(world, () => world.run(400_000))
      world.answer = { kind: 'noFigure' }
      expect(await world.look()).toBe('noFigure')
      world.answer = { kind: 'unavailable', cause: 'away' }
      expect(await world.look()).toBe('unavailable')
      expect(world.reports).toEqual([])
    }))
})
