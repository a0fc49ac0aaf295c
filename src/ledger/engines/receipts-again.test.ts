import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import {
  createRewoundDatabase,
  type RewoundDatabase,
} from '../../store/testing/rewound-database.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { getPurchase } from '../purchases.ts'
import { connected } from '../testing/connected.ts'
import { paidLook } from '../testing/paid-look.ts'
import { runScript } from '../testing/script.ts'
import { benchOnStore, type StoreBench } from '../testing/store-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'
import type { StoreGap } from './went-back.ts'

/** Purchases that a database lost, and the numbers of their receipts, which buyers may have on paper. */

const LIMITS = LEDGER_LIMITS_DEFAULT

let database: RewoundDatabase
let bench: StoreBench
let ledger: BatchedLedger
let gaps: StoreGap[]

beforeEach(async () => {
  database = await createRewoundDatabase()
  gaps = []
  const store = await openStore({ url: database.url })
  ledger = postgresLedger({
    url: database.url,
    limits: LIMITS,
    wentBack: { instanceId: 'I', onWentBack: (gap) => gaps.push(gap) },
  })
  const remove = () => database.remove()
  bench = benchOnStore({ store, ledger, setNowMs: () => {}, remove })
  await runScript(bench, 'account A')
})
afterEach(async () => {
  await bench.audit()
  await bench.close()
})

/** The numbers of the receipts, by their purchases. */
async function numbers(): Promise<Readonly<Record<string, number>>> {
  const query = bench.store.db.selectFrom('purchases').select(['id', 'receipt_number'])
  const rows = await query.orderBy('id').execute()
  return Object.fromEntries(rows.map((row) => [row.id, Number(row.receipt_number)]))
}

test('purchases that are booked again keep their numbers, and the next one counts on behind them', async () => {
  await ledger.postPurchase(paidLook('1'))
  await database.keep()
  await connected(ledger)
  await ledger.postPurchase(paidLook('2'))
  await ledger.postPurchase(paidLook('3'))
  await database.goBack()
  await connected(ledger)
  await ledger.postPurchase(paidLook('4'))
  expect(await numbers()).toEqual({ pur_1: 1, pur_2: 2, pur_3: 3, pur_4: 4 })
  expect(gaps).toMatchObject([{ commands: 2, lost: 0 }])
})

test('one whose number another purchase has since gets the next behind all of them, and says which it had', async () => {
  await database.keep()
  await connected(ledger)
  await ledger.postPurchase(paidLook('1'))
  await ledger.postPurchase(paidLook('2'))
  await database.goBack()
  const other = postgresLedger({ url: database.url, limits: LIMITS })
  await other.postPurchase(paidLook('3'))
  await other.close()
  await connected(ledger)
  expect(await numbers()).toEqual({ pur_1: 3, pur_2: 2, pur_3: 1 })
  expect((await getPurchase(bench.store.db, 'pur_1'))?.note).toBe(
    'its receipt had the number 1 before the database went back',
  )
})
