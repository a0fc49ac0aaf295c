import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { getPurchase, listCreditedPurchases } from './purchases.ts'
import { STORE_BENCHES } from './testing/benches.ts'
import { paidLook } from './testing/paid-look.ts'
import { runScript } from './testing/script.ts'
import type { StoreBench } from './testing/store-bench.ts'

let bench: StoreBench

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    await runScript(bench, 'account A\naccount B')
    // The order of the IDs is not that of the credit, as of purchases that were held for days.
    for (const [name, creditedAtMs, accountId] of [
      ['7', 10, 'A'],
      ['3', 20, 'B'],
      ['5', 20, 'A'],
      ['4', 20, 'A'],
      ['1', 30, 'B'],
      ['6', 40, 'A'],
    ] as const) {
      bench.nowMs = creditedAtMs
      await bench.ledger.postPurchase(paidLook(name, { accountId }))
    }
    const unpaid = { kind: 'open', expiresAtMs: null } as const
    await bench.ledger.postPurchase({ ...paidLook('2'), fact: unpaid })
    await bench.ledger.postPurchase(paidLook('4', { reversedUnits: 5n }))
  })
  afterEach(() => bench.auditAndClose())

  const ALL = { sinceMs: 0, untilMs: 1_000 }

  async function pages(
    limit: number,
    filter: Partial<Parameters<typeof listCreditedPurchases>[1]> = {},
  ): Promise<readonly string[][]> {
    const found: string[][] = []
    let after: Parameters<typeof listCreditedPurchases>[1]['after'] = null
    do {
      const page = await listCreditedPurchases(bench.db, { ...ALL, ...filter, after, limit })
      found.push(page.rows.map(({ id }) => id))
      const last: typeof page.nextCursor = page.nextCursor
      const { creditedAtMs = null } = (last && (await getPurchase(bench.db, last))) || {}
      after = last === null || creditedAtMs === null ? null : { id: last, creditedAtMs }
    } while (after !== null)
    return found
  }

  test('purchases are listed by the time of their credit over pages of any length, and those not credited are left out', async () => {
    const all = ['pur_6', 'pur_1', 'pur_5', 'pur_4', 'pur_3', 'pur_7']
    for (const limit of [1, 2, 3, 4, 6, 10]) {
      const found = await pages(limit)
      expect(found.flat(), `pages of ${limit}`).toEqual(all)
      expect(found).toHaveLength(Math.ceil(all.length / limit))
    }
  })

  test('a range has its first moment and not its last', async () => {
    expect(await pages(2, { sinceMs: 20, untilMs: 40 })).toEqual([
      ['pur_1', 'pur_5'],
      ['pur_4', 'pur_3'],
    ])
    expect(await pages(9, { sinceMs: 41 })).toEqual([[]])
    expect(await pages(9, { untilMs: 10 })).toEqual([[]])
  })

  test('the other filters select in a range too', async () => {
    expect(await pages(9, { sinceMs: 20, accountId: 'A' })).toEqual([['pur_6', 'pur_5', 'pur_4']])
    expect(await pages(9, { reversals: ['partly_refunded'] })).toEqual([['pur_4']])
    expect(await pages(9, { states: ['open'] })).toEqual([[]])
  })
})
