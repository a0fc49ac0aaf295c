import { afterAll, beforeAll, expect, test } from 'vitest'
import { findPurchase } from '../ledger/purchases.ts'
import { createSqliteBench } from '../ledger/testing/sqlite-bench.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import { checkDeposits } from './check-payments.ts'
import { ChainWorld } from './testing/chain-world.ts'
import type { ModelChain } from './testing/model-chain.ts'

type Logs = Parameters<ModelChain['pay']>[0]

let bench: StoreBench
beforeAll(async () => {
  bench = await createSqliteBench()
})
afterAll(() => bench.close())

/** A chain on which a transaction was found as deposits, and was mined again with other transfers in place of a final block. */
async function minedAgain(found: Logs, again: (world: ChainWorld) => Logs) {
  const world = await ChainWorld.open(bench)
  const watch = world.watch()
  await watch.look()
  world.model.pay(found.map((log) => ({ ...log, to: world.addresses[0] ?? '' })))
  world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(1)
  await watch.look()
  const query = bench.db.selectFrom('purchases').select('source').orderBy('id')
  const sources = await query.where('account_id', '=', world.accounts[0] ?? '').execute()
  const rows = await Promise.all(sources.map(({ source }) => findPurchase(bench.db, source)))
  world.model.replaceFinal(1, () => again(world))
  for (let block = 0; block < 3; block++) world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(3)
  await watch.rewind(1)
  await watch.look()
  const deposits = world.deposits()
  const look = (row: PurchaseRow | null) => deposits.look(row ?? expect.unreachable())
  return Promise.all(rows.map(look))
}

const DEPOSIT = { to: '', token: 0, units: 60_000_000n }

test('a deposit whose transfer now pays another account is gone', async () => {
  const facts = await minedAgain([DEPOSIT], ({ addresses: [, other = ''] }) => [
    { ...DEPOSIT, to: other },
  ])
  expect(facts).toEqual([{ kind: 'expired' }])
})

const paid = (units: bigint) =>
  expect.objectContaining({ kind: 'paid', paid: { currency: 'USD0', units } })

test('deposits that are now at other places of their transaction are each found once', async () => {
  const facts = await minedAgain(
    [DEPOSIT, { ...DEPOSIT, units: 70_000_000n }, DEPOSIT],
    (world) => {
      const [to = '', other = ''] = world.addresses
      const log = { ...DEPOSIT, to }
      // One of the two of the same amount is gone.
      return [{ ...DEPOSIT, to: other }, { ...log, units: 70_000_000n }, { ...log, units: 1n }, log]
    },
  )
  expect(facts).toEqual([paid(60_000_000n), paid(70_000_000n), paid(1n)])
})

test('a deposit whose transaction now has another amount at its place has that amount, and adds no credit', async () => {
  const facts = await minedAgain([DEPOSIT], ({ addresses: [to = ''] }) => [
    { ...DEPOSIT, to, units: 50_000_000n },
  ])
  const judgment = expect.objectContaining({ kind: 'hold', worthMicros: null })
  expect(facts).toEqual([
    expect.objectContaining({ judgment, paid: { currency: 'USD0', units: 50_000_000n } }),
  ])
})

test('deposits of a token that is no longer accepted are counted as not compared, and no longer credited', async () => {
  const world = await ChainWorld.open(bench)
  const watch = world.watch()
  await watch.look()
  world.model.pay([{ ...DEPOSIT, to: world.addresses[0] ?? '' }])
  world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(1)
  await watch.look()
  const { db } = bench
  const own = db.updateTable('purchases').where('account_id', '=', world.accounts[0] ?? '')
  await own.set({ paid_currency: 'GONE' }).execute()
  const method = world.deposits()
  const check = checkDeposits({ db, method, sinceMs: 0, onChecked: () => {} })
  expect(await check).toMatchObject({ skipped: 1, differences: [] })
  const { source } = await db
    .selectFrom('purchases')
    .select('source')
    .where('paid_currency', '=', 'GONE')
    .executeTakeFirstOrThrow()
  const row = await findPurchase(db, source)
  await expect(method.look(row ?? expect.unreachable())).rejects.toMatchObject({
    lasting: expect.stringContaining('GONE is no longer accepted'),
  })
})
