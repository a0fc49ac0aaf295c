import { beforeEach, expect, test } from 'vitest'
import { ofEach } from '../../vocabulary/testing/of-each.ts'
import { getPurchase } from '../purchases.ts'
import { connected } from '../testing/connected.ts'
import { paidLook } from '../testing/paid-look.ts'
import { RewoundBench } from '../testing/rewound-bench.ts'

/** Purchases that a database lost, and the numbers of their receipts, which buyers may have on paper. */

// Closing it audits the ledger.
const world = ofEach(RewoundBench.open)
beforeEach(async () => {
  await world.run('account A')
})

/** The numbers of the receipts, by their purchases. */
async function numbers(): Promise<Readonly<Record<string, number>>> {
  const query = world.bench.db.selectFrom('purchases').select(['id', 'receipt_number'])
  const rows = await query.orderBy('id').execute()
  return Object.fromEntries(rows.map((row) => [row.id, Number(row.receipt_number)]))
}

test('purchases that are booked again keep their numbers, and the next purchase gets the next number', async () => {
  await world.ledger.postPurchase(paidLook('1'))
  await world.keep()
  await world.ledger.postPurchase(paidLook('2'))
  await world.ledger.postPurchase(paidLook('3'))
  await world.goBack()
  await world.ledger.postPurchase(paidLook('4'))
  expect(await numbers()).toEqual({ pur_1: 1, pur_2: 2, pur_3: 3, pur_4: 4 })
  expect(world.gaps).toMatchObject([{ commands: 2, lost: 0 }])
})

test('a receipt whose number another purchase now has gets the next free number, and names its earlier one', async () => {
  await world.keep()
  await world.ledger.postPurchase(paidLook('1'))
  await world.ledger.postPurchase(paidLook('2'))
  await world.loseAll()
  const other = world.beside()
  await other.postPurchase(paidLook('3'))
  await other.close()
  await connected(world.ledger)
  expect(await numbers()).toEqual({ pur_1: 3, pur_2: 2, pur_3: 1 })
  expect((await getPurchase(world.bench.db, 'pur_1'))?.note).toBe(
    'its receipt had the number 1 before the database went back',
  )
  await world.ledger.postPurchase(paidLook('4'))
  expect(await numbers()).toEqual({ pur_1: 3, pur_2: 2, pur_3: 1, pur_4: 4 })
})
