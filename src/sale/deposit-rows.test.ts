import { expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { micros } from '../vocabulary/money.ts'
import { type ConfirmingDeposit, listConfirming, replaceConfirming } from './deposit-rows.ts'

const CHAIN = 8_453

test.each(STORE_BENCHES)(
  'on $engine thousands of deposits can be on their way at the same time',
  async ({ open }) => {
    const bench = await open()
    const { db } = bench
    await bench.createAccount('A')
    const rows = Array.from({ length: 6_000 }, (_, logIndex): ConfirmingDeposit => {
      const named = { chainId: CHAIN, txHash: `0x${logIndex}`, logIndex, accountId: 'A' }
      const paid = { method: 'base-usdc', block: 1, currency: 'USDC', units: 10_000n }
      return { ...named, ...paid, creditMicros: micros(10_000), seenAtMs: 0 }
    })
    await replaceConfirming(db, { chainId: CHAIN, rows })
    const newest = (await listConfirming(db, 'A')).map(({ logIndex }) => logIndex)
    expect(newest.slice(0, 2)).toEqual([5_999, 5_998])
    await replaceConfirming(db, { chainId: CHAIN, rows: [] })
    expect(await listConfirming(db, 'A')).toEqual([])
    await bench.close()
  },
)
