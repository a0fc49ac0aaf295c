import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyStore } from '../../store/copy-store.ts'
import { openStore } from '../../store/open-store.ts'
import { TEST_DATABASES } from '../../store/testing/test-databases.ts'
import type { Ledger } from '../commands.ts'
import { createLedger } from '../engines/create-ledger.ts'
import { getPurchase } from '../purchases.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { paidLook } from '../testing/paid-look.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import type { PostPurchaseInput } from './post-purchase.ts'

const ACCOUNTS = ['A', 'A2', 'A3', 'A4']

/** Payments of several accounts, by number. */
function paid(place: number, reversedUnits = 0n): PostPurchaseInput {
  const accountId = ACCOUNTS[place % ACCOUNTS.length] ?? 'A'
  return paidLook(String(place), { accountId, reversedUnits })
}

const upTo = (count: number) => Array.from({ length: count }, (_, place) => place + 1)

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  let other: Ledger & { close(): Promise<void> }

  beforeEach(async () => {
    bench = await open()
    await runScript(bench, ACCOUNTS.map((id) => `account ${id}`).join('\n'))
    // Another process has its own writer on the same store.
    other = createLedger({ location: bench.store.location })
  })
  afterEach(async () => {
    await other.close()
    await bench.auditAndClose()
  })

  async function numbers(): Promise<unknown[]> {
    const query = bench.db.selectFrom('purchases').select('receipt_number')
    const rows = await query.where('state', '=', 'credited').execute()
    return rows.map((row) => Number(row.receipt_number)).sort((one, next) => one - next)
  }

  test('20 purchases that two processes credit at the same time have the numbers 1 to 20', async () => {
    const ledgers = [bench.ledger, other]
    await Promise.all(upTo(20).map((place) => ledgers[place % 2]?.postPurchase(paid(place))))
    expect(await numbers()).toEqual(upTo(20))
  })

  test('a purchase that is rolled back takes no number, with and without others in its commit', async () => {
    const posted = await Promise.allSettled(
      upTo(12).map((place) => bench.ledger.postPurchase(paid(place, place % 3 === 0 ? -1n : 0n))),
    )
    expect(posted.filter(({ status }) => status === 'rejected')).toHaveLength(4)
    expect(await numbers()).toEqual(upTo(8))
  })

  test('a number is used once, and refunds, repeats and unpaid purchases use none', async () => {
    const open = { kind: 'open', expiresAtMs: null } as const
    await bench.ledger.postPurchase({ ...paid(1), fact: open })
    expect((await getPurchase(bench.db, 'pur_1'))?.receiptNumber).toBeNull()
    await bench.ledger.postPurchase(paid(1))
    await bench.ledger.postPurchase(paid(1))
    await bench.ledger.postPurchase(paid(1, 5n))
    await bench.ledger.postPurchase(paid(2))
    expect(await numbers()).toEqual([1, 2])
    expect((await getPurchase(bench.db, 'pur_1'))?.receiptNumber).toBe(1)
  })

  test('a receipt keeps the buyer that the account had when the credit was added', async () => {
    const buyerOf = async (place: number) => {
      const json = (await getPurchase(bench.db, `pur_${place}`))?.buyerJson
      return json == null ? null : JSON.parse(json)
    }
    const open = { kind: 'open', expiresAtMs: null } as const
    await bench.ledger.postPurchase({ ...paid(4), fact: open })
    expect(await buyerOf(4)).toBeNull()
    const none = { address: null, tax_id: null, email: null }
    await bench.ledger.postPurchase(paid(4))
    expect(await buyerOf(4)).toEqual({ name: 'A', ...none })
    const billing = { name: 'Helix Lab GmbH', address: 'Kai 3, Hamburg', tax_id: 'DE1' }
    await bench.ledger.updateAccount({ id: 'A', billingJson: JSON.stringify(billing) }, null)
    await bench.ledger.postPurchase(paid(8))
    await bench.ledger.updateAccount({ id: 'A', name: 'B', billingJson: null }, null)
    await bench.ledger.postPurchase(paid(4, 5n))
    expect(await buyerOf(4)).toEqual({ name: 'A', ...none })
    expect(await buyerOf(8)).toEqual({ ...none, ...billing })
  })

  test("receipt numbers of a copied store continue from the store's last", async () => {
    await bench.ledger.postPurchase(paid(1))
    await bench.ledger.postPurchase(paid(2))
    const target = await TEST_DATABASES[0]?.create()
    if (target === undefined) throw new Error('there is no store to copy to')
    const { location } = bench.store
    const from = location.kind === 'postgres' ? location.url : `sqlite:${location.file}`
    await copyStore({ from, to: target.url, verify: async () => {} })
    const copy = await openStore({ url: target.url })
    const ledger = createLedger({ location: copy.location })
    await ledger.postPurchase(paid(3))
    expect((await getPurchase(copy.db, 'pur_3'))?.receiptNumber).toBe(3)
    await ledger.close()
    await copy.close()
    await target.remove()
  })
})
