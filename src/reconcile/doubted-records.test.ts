import { describe, expect, test } from 'vitest'
import type { CorrectInput } from '../ledger/ledger.ts'
import { StoreRefused } from '../store/store-failure.ts'
import type { Resolution } from '../vocabulary/outcome.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { usageOf } from '../vocabulary/testing/token-usage.ts'
import {
  createReconcileWorld,
  describeSettlement,
  estimated,
  HOUR_MS,
  provisional,
  SECOND_MS,
  START_MS,
  unresolved,
} from './testing/world.ts'

const COUNTED = usageOf('10 in, 5 out')

// Closing it audits the ledger.
const world = ofEach(createReconcileWorld)

describe('a record that cannot be true', () => {
  const record = (id: string, totalCost: string) =>
    `{"data":{"id":"${id}","total_cost":${totalCost}}}`

  /** Every look-up is answered like this. */
  const answer = (rawBody: string) =>
    world.simulator.script({ path: '/generation', times: 'always', rawBody })

  test.each([
    ['of another generation', record('gen-2', '0.0002'), 'otherGeneration'],
    ['without an id', '{"data":{"total_cost":0.0002}}', 'otherGeneration'],
    ['of a cost that no request has', record('gen-1', '5000000000'), 'absurdCost'],
    ['of nothing, where a cost was reported', record('gen-1', '0'), 'zeroCost'],
  ])(
    '%s counts as not known yet, and after a day the charge becomes final',
    async (_, rawBody, doubt) => {
      answer(rawBody)
      const process = await world.running()
      process.reconciler.noticed(await world.leave('R1', provisional('gen-1', '0.0001')))
      await world.passUntil(START_MS + 24 * HOUR_MS - 1, process)
      expect(process.settled).toEqual([])
      expect(new Set(process.doubted)).toEqual(new Set([`R1 ${doubt}`]))
      await world.passUntil(START_MS + 24 * HOUR_MS, process)
      expect(process.settled.map(describeSettlement)).toEqual(['R1 final 105 (givenUp, 0)'])
    },
  )

  test('of zero is not accepted if tokens were reported, even from the store', async () => {
    answer(record('gen-1', '0'))
    await world.leave('counted', estimated('gen-1', 500), { usage: COUNTED })
    await world.leave('unpriced', unresolved('gen-1'), { usage: COUNTED })
    const process = world.startProcess()
    process.reconciler.start()
    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    expect(new Set(process.doubted)).toEqual(new Set(['counted zeroCost', 'unpriced zeroCost']))
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'counted final 500 (givenUp, 0)',
      'unpriced released 0 (givenUp, 0)',
    ])
  })

  test('of zero is accepted if no tokens, or a cost of zero, were reported', async () => {
    answer(record('gen-1', '0'))
    await world.leave('guessed', estimated('gen-1', 500))
    await world.leave('lost', unresolved('gen-1'))
    await world.leave('free', provisional('gen-1', '0'), { usage: COUNTED })
    await world.leave('unpriced', estimated('gen-1', 0), { usage: COUNTED })
    const process = world.startProcess()
    world.nowMs += SECOND_MS
    await process.reconciler.runDue()
    expect(process.doubted).toEqual([])
    expect(process.settled.map(describeSettlement).toSorted()).toEqual([
      'free final 0 (0, 0)',
      'guessed final 0 (0, -500)',
      'lost final 0 (0, 0)',
      'unpriced final 0 (0, 0)',
    ])
  })

  test('that the store refuses is not retried forever: after a day the charge becomes final', async () => {
    world.ran('gen-1', 0.0002)
    const refusing = {
      correct: async (input: CorrectInput) => {
        if (input.correction.kind === 'final') throw new StoreRefused('beyond any amount')
        return world.bench.ledger.correct(input)
      },
    }
    const process = await world.running({ ledger: refusing })
    process.reconciler.noticed(await world.leave('R1', estimated('gen-1', 500)))
    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    expect(process.settled.map(describeSettlement)).toEqual(['R1 final 500 (givenUp, 0)'])
    const askedBefore = process.asked.length
    await world.passUntil(START_MS + 26 * HOUR_MS, process)
    expect(process.asked.length).toBe(askedBefore)
  })
})

describe('a request that was released and has an id', () => {
  const dropped = (billedAs: string): Resolution => ({ kind: 'released', billedAs })

  test('gets its late cost recorded, and is never charged for it', async () => {
    world.ran('gen-1', 0.0002)
    world.simulator.generations.answerUnknownFirst(2)
    const process = await world.running()
    process.reconciler.noticed(await world.leave('R1', dropped('gen-1')))
    await world.passUntil(START_MS + HOUR_MS, process)
    expect(process.billedLate).toEqual(['R1 0.0002'])
    expect(process.settled).toEqual([])
    expect(await world.show('R1')).toBe('released 0')
    expect(await world.bench.request('R1')).toMatchObject({ lateCostUsd: '0.0002', lateReports: 1 })
  })

  test('is asked about for some minutes, and no longer', async () => {
    const process = await world.running()
    process.reconciler.noticed(await world.leave('R1', dropped('gen-1')))
    await world.passUntil(START_MS + 24 * HOUR_MS, process)
    const ages = process.asked.map(({ atMs }) => (atMs - START_MS) / SECOND_MS)
    expect(ages).toEqual([1, 3, 7, 15, 31, 63, 127, 255, 511])
    expect(process.settled).toEqual([])
  })
})
