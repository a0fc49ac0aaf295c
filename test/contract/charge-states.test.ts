import { describe, expect, test } from 'vitest'
import type { Fault, Omission } from '../../simulator/faults.ts'
import { Bench } from './bench.ts'
import {
  type Charge,
  estimateOf,
  expectCharge,
  reportedCharge,
  UNRESOLVED,
} from './expect-charge.ts'
import type { FormatRow } from './format-row.ts'
import { ROWS } from './rows.ts'

const bench = Bench.ofFile()

const NO_ID: readonly Omission[] = ['id', 'generationHeader']
const COUNT_NOTHING = { pattern: '"(\\w+_tokens)":\\d+', replacement: '"$1":0' }
const COST_USD = 0.001234
const COST_MICROS = 1_296

/** How an answer's omissions decide its charge; `fullMicros` is the charge by its counts. */
interface SuccessCase {
  readonly what: string
  readonly fault: Fault
  readonly charge: (row: FormatRow, fullMicros: number) => Charge
}

const SUCCESSES: readonly SuccessCase[] = [
  {
    what: 'a cost and a generation id',
    fault: { costUsd: COST_USD },
    charge: (row) => reportedCharge(COST_MICROS, row),
  },
  {
    what: 'a cost, and a generation id in the header alone',
    fault: { costUsd: COST_USD, omit: ['id'] },
    charge: (row) => reportedCharge(COST_MICROS, row),
  },
  {
    what: 'a cost and no generation id',
    fault: { costUsd: COST_USD, omit: NO_ID },
    charge: () => reportedCharge(COST_MICROS, { hasGenerations: false }),
  },
  { what: 'a cost of nothing', fault: { costUsd: 0 }, charge: (row) => reportedCharge(0, row) },
  {
    what: 'counts and a generation id, but no cost',
    fault: { omit: ['cost'] },
    charge: (row, fullMicros) => (row.hasGenerations ? estimateOf(fullMicros) : UNRESOLVED),
  },
  {
    // Tokens that the provider has counted are not estimated, however long the text.
    what: 'counts of nothing and a generation id, but no cost',
    fault: { omit: ['cost'], rewrite: COUNT_NOTHING },
    charge: (row) => (row.hasGenerations ? estimateOf(0) : UNRESOLVED),
  },
  {
    what: 'no cost and no generation id',
    fault: { omit: ['cost', ...NO_ID] },
    charge: () => UNRESOLVED,
  },
  {
    what: 'a generation id, but neither cost nor counts',
    fault: { omit: ['usage'] },
    charge: () => UNRESOLVED,
  },
]

/** The charge of the row's request if the simulator reports its cost, which equals the cost of its counts. */
async function fullChargeMicros(row: FormatRow): Promise<number> {
  const { toldMicros } = await bench.send(row)
  expect(toldMicros).toBeGreaterThan(0)
  return toldMicros ?? 0
}

describe.each(ROWS)('$endpoint', (row) => {
  test.each(SUCCESSES)('an answer with $what', async (its) => {
    const charge = its.charge(row, await fullChargeMicros(row))
    const answer = await bench.send(row, { fault: its.fault })
    expect([answer.httpStatus, answer.toldMicros]).toEqual([200, charge.chargeMicros])
    await expectCharge(bench, answer, { ...charge, httpStatus: 200, errorCode: null })
  })

  if (row.streams !== null) {
    test.each(SUCCESSES)('a stream with $what', async (its) => {
      const charge = its.charge(row, await fullChargeMicros(row))
      const answer = await bench.send(row, { stream: true, fault: its.fault })
      expect([answer.httpStatus, answer.toldMicros]).toEqual([200, null])
      await expectCharge(bench, answer, { ...charge, httpStatus: 200, errorCode: null })
    })
  }

  test.each([
    [0.00001, 11],
    [0.0000104, 11],
    [0.0123456789, 12_963],
    [1e-7, 0],
    [4.8e-7, 1],
  ])('a cost of $%d is charged as %i micro-dollars', async (costUsd, chargeMicros) => {
    const answer = await bench.send(row, { fault: { costUsd } })
    expect(answer.toldMicros).toBe(chargeMicros)
    expect((await bench.activity(answer))?.backedChargeMicros).toBe(chargeMicros)
  })

  test('a charge that may be corrected later can be looked up by its generation', async () => {
    const answer = await bench.send(row)
    const upstream = bench.world.simulator.requests.findLast(({ isInference }) => isInference)
    expect((await bench.activity(answer))?.generationId).toBe(
      row.hasGenerations ? upstream?.generationId : null,
    )
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
