import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import type { Resolution } from '../vocabulary/outcome.ts'
import type { DoubtUnit } from './doubts.ts'
import { StandingCosts } from './standing-costs.ts'

const START_MS = Date.UTC(2030, 0, 1)
const STANDS_AFTER_MS = 600_000
const LIMITS = { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 100_000, keyRequestsPerMinuteMax: 100_000 }

const KINDS = ['stands', 'reported', 'estimate', 'unresolved', 'open', 'final'] as const

interface Ended {
  readonly kind: (typeof KINDS)[number]
  readonly modelId: string
  readonly instanceId: string
  readonly openedMs: number
  readonly tookMs: number
}

const ended: fc.Arbitrary<Ended> = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('stands' as const) },
    fc.constantFrom(...KINDS),
  ),
  modelId: fc.constantFrom('acme/one', 'acme/two'),
  instanceId: fc.constantFrom('I', 'other'),
  openedMs: fc.integer({ min: 0, max: 2 * STANDS_AFTER_MS }),
  tookMs: fc.constantFrom(0, 1_000, STANDS_AFTER_MS),
})

function resolutionOf(kind: Ended['kind']): Resolution | null {
  const chargeMicros = micros(105)
  const costUsd = costOfCharge(chargeMicros)
  switch (kind) {
    case 'open':
      return null
    case 'final':
      return { kind, chargeMicros, costUsd }
    case 'unresolved':
      return { kind, generationId: 'gen-1' }
    case 'estimate':
      return { kind: 'provisional', chargeMicros, costUsd: null, generationId: 'gen-1' }
    case 'reported':
    case 'stands':
      return {
        kind: 'provisional',
        chargeMicros,
        costUsd,
        generationId: 'gen-1',
        stands: kind === 'stands',
      }
  }
}

async function prepare(bench: StoreBench): Promise<void> {
  bench.nowMs = START_MS
  await runScript(bench, 'account A\nkey K A\ncredit A backed 1000000000 first')
}

async function leave(bench: StoreBench, number: number, request: Ended): Promise<string> {
  const time = firstIdOf({ prefix: 'req', timeMs: START_MS + request.openedMs })
  const requestId = `${time}${String(number).padStart(16, '0')}`
  bench.nowMs = START_MS + request.openedMs
  await bench.ledger.openHold(
    holdInput(requestId, {
      modelId: request.modelId,
      instanceId: request.instanceId,
      amountMicros: 1_000,
    }),
  )
  const resolution = resolutionOf(request.kind)
  bench.nowMs = START_MS + request.openedMs + request.tookMs
  if (resolution !== null) await bench.ledger.settle({ requestId, resolution, facts: FACTS })
  return requestId
}

function standingOf(
  bench: StoreBench,
  { nowMs, isDoubted = () => false }: { nowMs: number; isDoubted?: (unit: DoubtUnit) => boolean },
) {
  const seen = { stood: 0, recalled: 0, opened: 0 }
  const standing = new StandingCosts({
    db: bench.store.reports,
    ledger: bench.ledger,
    doubts: {
      read: async () => {},
      get opened() {
        return seen.opened
      },
    },
    isDoubted,
    clock: { nowMs: () => nowMs },
    instanceId: 'I',
    standsAfterMs: STANDS_AFTER_MS,
    onStood: (requests) => {
      seen.stood += requests
    },
    onRecalled: (requests) => {
      seen.recalled += requests
    },
    onFailure: (cause) => {
      throw cause
    },
    pageRequests: 3,
  })
  return { standing, seen }
}

describe.each(STORE_BENCHES)('reported costs on $engine', ({ open }) => {
  test('become final when their time is up, but not estimated, lost or doubted ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(ended, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 0, max: 4 * STANDS_AFTER_MS }),
        fc.boolean(),
        async (requests, afterMs, twoIsDoubted) => {
          const bench = await open({ limits: LIMITS })
          await prepare(bench)
          const ids: string[] = []
          for (const [number, request] of requests.entries()) {
            ids.push(await leave(bench, number, request))
          }
          const nowMs = START_MS + afterMs
          bench.nowMs = Math.max(nowMs, START_MS + 4 * STANDS_AFTER_MS)
          const before = await Promise.all(ids.map((id) => bench.request(id)))
          const account = await bench.account('A')
          const isDoubted = ({ modelId }: DoubtUnit) => twoIsDoubted && modelId === 'acme/two'
          const { standing, seen } = standingOf(bench, { nowMs, isDoubted })
          await standing.pass()
          let stood = 0
          let recalled = 0
          for (const [number, request] of requests.entries()) {
            const was = before[number]
            const row = await bench.request(ids[number] ?? '')
            const dueAtMs = START_MS + request.openedMs + request.tookMs + STANDS_AFTER_MS
            const isMine = request.instanceId === 'I' || nowMs >= dueAtMs + 300_000
            const isDue = request.kind === 'stands' && nowMs >= dueAtMs && isMine
            if (!isDue) expect(row).toEqual(was)
            else if (isDoubted(holdInput('', { modelId: request.modelId }))) {
              expect(row).toEqual({ ...was, costStands: false })
              recalled++
            } else {
              const settledAtMs = expect.any(Number)
              expect(row).toEqual({ ...was, state: 'final', settledAtMs })
              stood++
            }
          }
          expect([seen.stood, seen.recalled]).toEqual([stood, recalled])
          expect(await bench.account('A')).toEqual(account)
          await bench.auditAndClose()
        },
      ),
      { numRuns: 12 },
    )
  })

  test('are corrected by an earlier correction in the same commit, and are final for a later one', async () => {
    const bench = await open({ limits: LIMITS })
    await prepare(bench)
    const request = { kind: 'stands', modelId: 'acme/one', instanceId: 'I' } as const
    const [one, two, three] = await Promise.all(
      [0, 1, 2].map((number) => leave(bench, number, { ...request, openedMs: 0, tookMs: 0 })),
    )
    if (one === undefined || two === undefined || three === undefined) throw new Error('not left')
    const costUsd = costOfCharge(micros(210))
    const correction = { kind: 'final', chargeMicros: micros(210), costUsd } as const
    const [corrected, stood, unchanged] = await Promise.all([
      bench.ledger.correct({ requestId: two, correction }),
      bench.ledger.settleStanding({ requestIds: [one, two, three], to: 'final' }),
      bench.ledger.correct({ requestId: one, correction }),
    ])
    expect(corrected).toMatchObject({ kind: 'corrected', state: 'final', chargedMicros: 210 })
    expect(stood).toBe(2)
    expect(unchanged).toMatchObject({ kind: 'unchanged', state: 'final', chargedMicros: 105 })
    const rows = await Promise.all([one, two, three].map((id) => bench.request(id)))
    expect(rows.map((row) => row?.state)).toEqual(['final', 'final', 'final'])
    await bench.auditAndClose()
  })

  test('of a unit that became doubted are looked up, even before their time is up', async () => {
    const bench = await open({ limits: LIMITS })
    await prepare(bench)
    const request = { kind: 'stands', instanceId: 'other', openedMs: 0, tookMs: 0 } as const
    const ids: string[] = []
    for (let number = 0; number < 8; number++) {
      const modelId = number % 2 === 0 ? 'acme/one' : 'acme/two'
      ids.push(await leave(bench, number, { ...request, modelId }))
    }
    const isDoubted = ({ modelId }: DoubtUnit) => modelId === 'acme/one'
    const { standing, seen } = standingOf(bench, { nowMs: START_MS, isDoubted })
    await standing.pass()
    expect(seen.recalled).toBe(0)
    seen.opened++
    await standing.pass()
    expect(seen).toEqual({ stood: 0, recalled: 4, opened: 1 })
    const rows = await Promise.all(ids.map((id) => bench.request(id)))
    expect(rows.map((row) => row?.costStands)).toEqual(ids.map((_, number) => number % 2 === 1))
    await bench.auditAndClose()
  })
})
