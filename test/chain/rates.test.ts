import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listAllPurchases } from '../../src/ledger/purchases.ts'
import type { Stablecoin, TokenPrice } from '../../src/sale/chain/terms.ts'
import { listConfirming } from '../../src/sale/deposit-rows.ts'
import { usableRate } from '../../src/sale/deposit-value.ts'
import { readRates } from '../../src/sale/token-rates.ts'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { ANVIL_CHAIN_ID, type Anvil } from './anvil.ts'
import { DepositBench, usdcOf } from './deposit-bench.ts'
import { type NodeBetween, TwoNodes } from './node-between.ts'

const HOUR_S = 3_600

let nodes: TwoNodes
let anvil: Anvil
let one: NodeBetween
let two: NodeBetween

beforeAll(async () => {
  nodes = await TwoNodes.start()
  ;({ anvil, one, two } = nodes)
})
afterAll(() => nodes[Symbol.asyncDispose]())
beforeEach(() => nodes.beHonest())

const nowS = () => Math.floor(Date.now() / 1_000)

/** A token whose price is that of a contract on the chain. */
async function fedToken(rate8: bigint, atS = nowS()) {
  const feed = await anvil.deployFeed()
  const address = await anvil.deployToken('EURX', 6)
  const set = async (rate: { readonly rate8: bigint; readonly atS: number }) => {
    await anvil.setFeed(feed, rate)
    await anvil.mine()
  }
  await set({ rate8, atS })
  const price: TokenPrice = { kind: 'feed', feed, staleAfterMs: HOUR_S * 1_000 }
  const coin: Stablecoin = {
    symbol: 'EURX',
    method: 'anvil-eurx',
    address: address.toLowerCase(),
    decimals: 6,
    price,
  }
  return { coin, set }
}

function open(input: Partial<Parameters<typeof DepositBench.open>[0]> = {}) {
  return DepositBench.open({ anvil, rpcUrls: [one.url, two.url], ...input })
}

test.each([
  ['above its floor', 99_500_000n, 'credited', 9_950_000],
  ['of a dollar', 100_000_000n, 'credited', 10_000_000],
  ['above a dollar, which counts as one', 104_000_000n, 'credited', 10_000_000],
  ['below its floor', 97_999_999n, 'held', 9_799_999],
] as const)(
  'a deposit of a token is valued at a price of its feed %s',
  async (_, rate8, state, worth) => {
    const { coin } = await fedToken(rate8)
    await using deposits = await open({ tokens: [coin] })
    await anvil.transfer({ to: deposits.addressOf('A'), units: 10_000_000n }, coin.address)
    await anvil.mine()
    await deposits.drain()
    const { rows: purchases } = await listAllPurchases(deposits.bench.db, { limit: 10 })
    expect(purchases).toMatchObject([{ state, creditMicros: worth }])
    expect(await deposits.balance('A')).toBe(state === 'credited' ? worth : 0)
  },
)

test.each([
  ['is stale', { rate8: 100_000_000n, atS: nowS() - 2 * HOUR_S }, 'its price is stale'],
  ['is zero', { rate8: 0n, atS: nowS() }, 'its price feed has no price'],
  ['is negative', { rate8: -1n, atS: nowS() }, 'its price feed has no price'],
  ['is from the future', { rate8: 100_000_000n, atS: nowS() + HOUR_S }, 'from the future'],
] as const)(
  'while the price of a token %s its deposits wait, others are credited, and it catches up',
  async (_, bad, reason) => {
    const { coin, set } = await fedToken(bad.rate8, bad.atS)
    const usdc = usdcOf(anvil)
    await using deposits = await open({ tokens: [usdc, coin] })
    const { watch, methods } = deposits.gateway()
    const to = deposits.addressOf('A')
    // Later blocks, further looks, and another gateway: the other tokens continue.
    for (let round = 1; round <= 3; round++) {
      await anvil.transfer({ to, units: 2_000_000n }, coin.address)
      await anvil.transfer({ to, units: 5_000_000n })
      await anvil.mine()
      const look = await deposits.drain(round === 2 ? deposits.gateway().watch : watch)
      expect(look).toMatchObject({
        kind: 'idle',
        waiting: { EURX: { kind: 'noRate', reason: expect.stringContaining(reason) } },
      })
      expect(await deposits.balance('A')).toBe(round * 5_000_000)
    }
    expect(await methods[1]?.terms()).toEqual({ kind: 'quote_unavailable' })
    expect((await methods[0]?.terms())?.kind).toBe('known')
    await set({ rate8: 100_000_000n, atS: nowS() })
    // Two gateways that catch up at the same moment.
    const other = deposits.gateway().watch
    await Promise.all([deposits.drain(watch), deposits.drain(other)])
    await anvil.transfer({ to, units: 1_000_000n }, coin.address)
    await anvil.mine()
    await deposits.drain(watch)
    expect(await deposits.drain(watch)).toMatchObject({ kind: 'idle', waiting: {} })
    expect(await deposits.balance('A')).toBe(15_000_000 + 6_000_000 + 1_000_000)
    const cursors = await deposits.bench.db.selectFrom('sale_cursors').select('source').execute()
    expect(
      cursors.map(({ source }) => source).filter((source) => source.includes('waits')),
    ).toEqual([])
  },
)

test('a clock that is set back makes no old look or rate count as new, and the next look corrects it', async () => {
  await using deposits = await open()
  const { watch, methods } = deposits.gateway()
  deposits.nowMs += HOUR_S * 1_000
  await deposits.drain(watch)
  expect((await methods[0]?.terms())?.kind).toBe('known')
  deposits.nowMs -= HOUR_S * 1_000
  expect(await methods[0]?.terms()).toEqual({ kind: 'chain_unavailable' })
  const rates = await readRates(deposits.bench.db, ANVIL_CHAIN_ID)
  const { address, price } = usdcOf(anvil)
  expect(usableRate(rates.get(address) ?? null, { nowMs: deposits.nowMs, price })).toEqual({
    kind: 'unusable',
    reason: 'its rate was not read for 10 minutes',
  })
  await deposits.drain(watch)
  expect((await methods[0]?.terms())?.kind).toBe('known')
})

test('a deposit that waits for a rate stays visible to its account, although its block is final', async () => {
  const { coin, set } = await fedToken(100_000_000n)
  await using deposits = await open({ tokens: [usdcOf(anvil), coin] })
  const { watch } = deposits.gateway()
  await deposits.drain(watch)
  await set({ rate8: 100_000_000n, atS: nowS() - 2 * HOUR_S })
  await anvil.transfer({ to: deposits.addressOf('B'), units: 3_000_000n }, coin.address)
  await anvil.mine()
  await deposits.drain(watch)
  const shown = await listConfirming(deposits.bench.db, 'B')
  expect(shown).toMatchObject([{ units: 3_000_000n, method: 'anvil-eurx' }])
  await set({ rate8: 100_000_000n, atS: nowS() })
  await deposits.drain(watch)
  expect(await deposits.balance('B')).toBe(3_000_000)
  expect(await listConfirming(deposits.bench.db, 'B')).toEqual([])
})

test('a token whose decimals differ from its setting is closed, and delays no other token', async () => {
  const wrong = await anvil.deployToken('WRNG', 18)
  const price: TokenPrice = { kind: 'fixed', rate8: 100_000_000n }
  const coin: Stablecoin = {
    symbol: 'WRNG',
    method: 'anvil-wrng',
    address: wrong.toLowerCase(),
    decimals: 6,
    price,
  }
  await using deposits = await open({ tokens: [coin, usdcOf(anvil)] })
  const to = deposits.addressOf('A')
  await anvil.transfer({ to, units: 10n ** 18n }, wrong)
  await anvil.mine()
  await deposits.drain()
  await anvil.transfer({ to, units: 5_000_000n })
  await anvil.mine()
  await deposits.drain()
  expect(await deposits.balance('A')).toBe(5_000_000)
  expect(deposits.events).toContain('WRNG has 18')
})

test('a rescan leaves the cursor of a waiting token alone, and adds the deposits of the others', async () => {
  const { coin, set } = await fedToken(100_000_000n, nowS() - 2 * HOUR_S)
  await using deposits = await open({ tokens: [usdcOf(anvil), coin] })
  const to = deposits.addressOf('C')
  const from = await anvil.blockNumber()
  await anvil.transfer({ to, units: 2_000_000n }, coin.address)
  await anvil.transfer({ to, units: 4_000_000n })
  await anvil.mine()
  await deposits.drain()
  expect(await deposits.gateway().rescan(from - 1)).toMatchObject({
    added: 0,
    waiting: { EURX: { kind: 'noRate', reason: expect.stringContaining('stale') } },
  })
  await set({ rate8: 100_000_000n, atS: nowS() })
  await deposits.drain()
  expect(await deposits.balance('C')).toBe(6_000_000)
})

test('500 transfers of dust are looked up without receipts, and delay no deposit of another account', async () => {
  await using deposits = await open()
  const to = deposits.addressOf('A')
  for (let batch = 0; batch < 10; batch++) {
    await anvil.transferTogether(Array.from({ length: 50 }, () => ({ to, units: 9_999n })))
  }
  await anvil.transfer({ to: deposits.addressOf('B'), units: 5_000_000n })
  await anvil.mine()
  const before = one.requests
  const look = await deposits.gateway().watch.look()
  expect(look).toMatchObject({ kind: 'advanced', added: 1 })
  // Heads, the price, the list, one receipt, and what confirms: none for the dust.
  expect(one.requests - before).toBeLessThanOrEqual(8)
  expect(await deposits.balance('B')).toBe(5_000_000)
  expect(await deposits.balance('A')).toBe(0)
  expect(deposits.events).toContain('500 of dust')
})

test.each(['sqlite', 'postgres'] as const)(
  'on %s, a deposit that all nodes left out at first is found by the next nightly scan, and credited once',
  async (engine) => {
    await using deposits = await open({ engine })
    const { watch } = deposits.gateway()
    await deposits.drain(watch)
    await anvil.transfer({ to: deposits.addressOf('A'), units: 8_000_000n })
    await anvil.mine()
    one.mode = { kind: 'dropsLogs' }
    two.mode = { kind: 'dropsLogs' }
    await deposits.drain(watch)
    one.mode = { kind: 'honest' }
    two.mode = { kind: 'honest' }
    await deposits.drain(watch)
    expect(await deposits.balance('A')).toBe(0)
    deposits.nowMs += DAY_MS
    // A chain whose looks always find newer blocks has its nights too.
    await anvil.mine()
    expect((await watch.look()).kind).toBe('advanced')
    expect(await deposits.balance('A')).toBe(8_000_000)
    expect(deposits.events).toContain('1 found late')
    deposits.nowMs += DAY_MS
    await deposits.drain(watch)
    await deposits.drain(deposits.gateway().watch)
    expect(await deposits.balance('A')).toBe(8_000_000)
  },
)
