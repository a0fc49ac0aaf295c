import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { listAllPurchases } from '../../src/ledger/purchases.ts'
import { listConfirming } from '../../src/sale/deposit-rows.ts'
import { saleFigures } from '../../src/sale/figures.ts'
import { micros } from '../../src/vocabulary/money.ts'
import type { Anvil } from './anvil.ts'
import { DepositBench } from './deposit-bench.ts'
import { type NodeBetween, TwoNodes } from './node-between.ts'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

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

function open(input: Partial<Parameters<typeof DepositBench.open>[0]> = {}) {
  return DepositBench.open({ anvil, rpcUrls: [one.url, two.url], ...input })
}

async function shown(deposits: DepositBench, account: string): Promise<readonly bigint[]> {
  const rows = await listConfirming(deposits.bench.db, account)
  return rows.map(({ units }) => units)
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (engine) => {
  test('a deposit is shown while it confirms, and credited once when it is final', async () => {
    await using deposits = await open({ engine })
    const { watch } = deposits.gateway()
    await anvil.transfer({ to: deposits.addressOf('A'), units: 25_000_000n })
    await deposits.drain(watch)
    expect(await deposits.balance('A')).toBe(0)
    expect(await shown(deposits, 'A')).toEqual([25_000_000n])
    await anvil.mine()
    await deposits.drain(watch)
    await deposits.drain(watch)
    expect(await deposits.balance('A')).toBe(25_000_000)
    expect(await shown(deposits, 'A')).toEqual([])
    expect(deposits.events).toEqual(['credit of A'])
  })

  test('a deposit that a reorg removes is no longer shown, and was never credited', async () => {
    await using deposits = await open({ engine })
    const { watch } = deposits.gateway()
    await anvil.transfer({ to: deposits.addressOf('B'), units: 9_000_000n })
    await watch.look()
    expect(await shown(deposits, 'B')).toEqual([9_000_000n])
    await anvil.reorg(1)
    await watch.look()
    expect(await shown(deposits, 'B')).toEqual([])
    await anvil.mine()
    await deposits.drain(watch)
    expect(await deposits.balance('B')).toBe(0)
  })

  test('four gateways that look at the same moment credit each of ten deposits once', async () => {
    await using deposits = await open({ engine })
    const gateways = [1, 2, 3, 4].map(() => deposits.gateway())
    for (let paid = 0; paid < 10; paid++) {
      await anvil.transfer({ to: deposits.addressOf('A'), units: 1_000_000n })
    }
    await anvil.mine()
    for (let round = 0; round < 3; round++) {
      await Promise.all(gateways.map(({ watch }) => watch.look()))
    }
    expect(await deposits.balance('A')).toBe(10_000_000)
  })
})

test('a deposit that a reorg moves to another place of another block is credited once', async () => {
  await using deposits = await open()
  const { watch } = deposits.gateway()
  const signed = await anvil.signTransfer({ to: deposits.addressOf('B'), units: 7_000_000n })
  await anvil.mine()
  await deposits.drain(watch)
  const snapshot = await anvil.rpc('evm_snapshot')
  const hash = String(await anvil.rpc('eth_sendRawTransaction', [signed]))
  const before = await anvil.receipt(hash)
  await watch.look()
  expect(await shown(deposits, 'B')).toEqual([7_000_000n])
  await anvil.rpc('evm_revert', [snapshot])
  await anvil.transfer({ to: anvil.payer, units: 1n })
  // The transaction is sent again, and comes after another one in its block.
  await anvil.rpc('evm_setAutomine', [false])
  const other = await anvil.sendUnmined({ to: deposits.addressOf('C'), units: 3_000_000n })
  await anvil.rpc('eth_sendRawTransaction', [signed])
  await anvil.mine(1)
  await anvil.rpc('evm_setAutomine', [true])
  const after = await anvil.receipt(hash)
  expect((await anvil.receipt(other)).blockNumber).toBe(after.blockNumber)
  expect([before.logs[0]?.logIndex, after.logs[0]?.logIndex]).toEqual(['0x0', '0x1'])
  expect(after.blockNumber).not.toBe(before.blockNumber)
  await anvil.mine()
  await deposits.drain(watch)
  expect(await deposits.balance('B')).toBe(7_000_000)
  expect(await deposits.balance('C')).toBe(3_000_000)
})

describe('of two nodes', () => {
  test.each([
    ['is down', { kind: 'down' }],
    ['has no time', { kind: 'busy' }],
    ['answers no JSON', { kind: 'garbage' }],
    ['is of another chain', { kind: 'otherChain' }],
    ['refuses batches', { kind: 'noBatches' }],
  ] as const)(
    'one %s: one node alone credits nothing, and all deposits are found later',
    async (_, mode) => {
      await using deposits = await open()
      const { watch } = deposits.gateway()
      await anvil.transfer({ to: deposits.addressOf('A'), units: 5_000_000n })
      await anvil.mine()
      two.mode = mode
      expect((await watch.look()).kind).toBe('unavailable')
      expect(await deposits.balance('A')).toBe(0)
      expect(deposits.events.length).toBeGreaterThan(0)
      // The address of a node may hold a key.
      expect(deposits.events.join()).not.toContain('key-of-this-gateway')
      two.mode = { kind: 'honest' }
      await deposits.drain(watch)
      expect(await deposits.balance('A')).toBe(5_000_000)
    },
  )

  test('one that leaves transfers out stops the cursor before them', async () => {
    await using deposits = await open()
    const { watch } = deposits.gateway()
    await anvil.transfer({ to: deposits.addressOf('A'), units: 6_000_000n })
    await anvil.mine()
    two.mode = { kind: 'dropsLogs' }
    expect((await watch.look()).kind).toBe('disagreed')
    two.mode = { kind: 'honest' }
    await deposits.drain(watch)
    expect(await deposits.balance('A')).toBe(6_000_000)
  })

  test('a transfer that one makes up is refused, and one that both make up has no receipt', async () => {
    await using deposits = await open()
    const { watch } = deposits.gateway()
    await anvil.mine()
    const block = (await anvil.rpc('eth_getBlockByNumber', ['finalized', false])) as {
      number: string
      hash: string
    }
    const topicOf = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
    const log = {
      address: anvil.usdc,
      topics: [TRANSFER, topicOf(anvil.payer), topicOf(deposits.addressOf('C'))],
      data: `0x${(10n ** 12n).toString(16).padStart(64, '0')}`,
      blockNumber: block.number,
      blockHash: block.hash,
      transactionHash: `0x${'99'.repeat(32)}`,
      logIndex: '0x0',
      removed: false,
    }
    one.mode = { kind: 'forgesLogs', log }
    expect((await watch.look()).kind).toBe('disagreed')
    two.mode = { kind: 'forgesLogs', log }
    expect((await watch.look()).kind).toBe('disagreed')
    expect(await deposits.balance('C')).toBe(0)
  })

  test('both that lack their newest blocks do not move the cursor past those blocks', async () => {
    await using deposits = await open()
    const { watch } = deposits.gateway()
    const block = await anvil.blockNumber()
    await anvil.transfer({ to: deposits.addressOf('A'), units: 1_000_000n })
    await anvil.mine()
    one.mode = { kind: 'behind', block }
    two.mode = { kind: 'behind', block }
    const look = await watch.look()
    // As far as both have the blocks, and no further.
    if (look.kind === 'advanced') expect(look.to).toBeLessThanOrEqual(block)
    else expect(look.kind).toBe('unavailable')
    expect(await deposits.balance('A')).toBe(0)
    one.mode = { kind: 'honest' }
    two.mode = { kind: 'honest' }
    await deposits.drain(watch)
    expect(await deposits.balance('A')).toBe(1_000_000)
  })

  test('both that refuse long ranges are asked for shorter ranges until they answer', async () => {
    await using deposits = await open()
    const { watch } = deposits.gateway()
    await anvil.mine(40)
    await anvil.transfer({ to: deposits.addressOf('A'), units: 2_000_000n })
    await anvil.mine()
    one.mode = { kind: 'smallRange', blocks: 4 }
    two.mode = { kind: 'smallRange', blocks: 4 }
    let looks = 0
    while ((await watch.look()).kind !== 'idle') {
      looks++
      if (looks > 60) throw new Error('the range was not found')
    }
    expect(await deposits.balance('A')).toBe(2_000_000)
  })
})

test('each transfer of a transaction counts; other tokens, nothing, and dust do not; small and large ones wait', async () => {
  const usdt = await anvil.deployToken('USDT', 18)
  const fake = await anvil.deployToken('USDC', 6)
  await using deposits = await open({
    tokens: [
      {
        symbol: 'USDC',
        method: 'anvil-usdc',
        address: anvil.usdc.toLowerCase(),
        decimals: 6,
        price: { kind: 'fixed', rate8: 100_000_000n },
      },
      {
        symbol: 'USDT',
        method: 'anvil-usdt',
        address: usdt.toLowerCase(),
        decimals: 18,
        price: { kind: 'fixed', rate8: 100_000_000n },
      },
    ],
  })
  const to = deposits.addressOf('B')
  await anvil.transferTogether([
    { to, units: 1_000_001n },
    { to, units: 1_000_001n },
    { to: anvil.payer, units: 5n },
  ])
  await anvil.transfer({ to, units: 10n ** 12n }, fake)
  await anvil.transferNothing(to)
  await anvil.transfer({ to, units: 9_999n })
  await anvil.transfer({ to, units: 999_999n })
  await anvil.transfer({ to, units: 2_000_000_999_999_999_999n }, usdt)
  await anvil.transfer({ to, units: 6_000_000_000n })
  await anvil.mine()
  await deposits.drain()
  expect(await deposits.balance('B')).toBe(2 * 1_000_001 + 2_000_000)
  const { rows: purchases } = await listAllPurchases(deposits.bench.db, { limit: 100 })
  expect(purchases.map(({ state, creditMicros }) => [state, creditMicros]).toSorted()).toEqual([
    ['below_minimum', 999_999],
    ['credited', 1_000_001],
    ['credited', 1_000_001],
    ['credited', 2_000_000],
    ['held', 6_000_000_000],
  ])
  expect(deposits.events).toContain('1 of dust')
})

test.each(['sqlite', 'postgres'] as const)(
  'on %s, deposits of more than an account can have are held, and counted as the largest shown amount',
  async (engine) => {
    await using deposits = await open({ engine })
    const to = deposits.addressOf('A')
    for (let count = 0; count < 2; count++) await anvil.transfer({ to, units: 2n ** 100n })
    await anvil.mine()
    await deposits.drain()
    expect(await deposits.balance('A')).toBe(0)
    expect(await saleFigures(deposits.bench.db)).toMatchObject({
      purchases: [{ state: 'held', purchases: 2, creditMicros: Number.MAX_SAFE_INTEGER }],
    })
  },
)

test('a deposit that was held is credited by an admin after another look, once', async () => {
  await using deposits = await open()
  const { sale } = deposits.gateway()
  await anvil.transfer({ to: deposits.addressOf('A'), units: 6_000_000_000n })
  await anvil.mine()
  await deposits.drain()
  const { rows: purchases } = await listAllPurchases(deposits.bench.db, { limit: 1 })
  const [held] = purchases
  if (held === undefined) throw new Error('nothing is held')
  expect(held).toMatchObject({ state: 'held', note: expect.stringContaining('$5000') })
  two.mode = { kind: 'down' }
  await expect(sale.approve(held.source, null)).rejects.toThrow('the nodes of the chain do not')
  expect(await deposits.balance('A')).toBe(0)
  two.mode = { kind: 'honest' }
  expect(await sale.approve(held.source, null)).toMatchObject({ isChanged: true })
  expect(await sale.approve(held.source, null)).toMatchObject({ isChanged: false })
  await deposits.drain()
  expect(await deposits.balance('A')).toBe(6_000_000_000)
})

test.each(['sqlite', 'postgres'] as const)(
  'on %s, deposits above the ceiling of a day are held',
  async (engine) => {
    const ceilings = { holdAboveMicros: micros(5_000_000), holdAboveDailyMicros: micros(7_000_000) }
    await using deposits = await open({ engine, ceilings })
    for (let paid = 0; paid < 3; paid++) {
      await anvil.transfer({ to: deposits.addressOf('A'), units: 3_000_000n })
    }
    await anvil.mine()
    await deposits.drain()
    expect(await deposits.balance('A')).toBe(6_000_000)
    const { rows: purchases } = await listAllPurchases(deposits.bench.db, { limit: 100 })
    expect(purchases.map(({ state }) => state).toSorted()).toEqual(['credited', 'credited', 'held'])
  },
)

test('a final block that was replaced stops the watch, until a rescan goes back', async () => {
  await using deposits = await open()
  const { watch } = deposits.gateway()
  await anvil.transfer({ to: deposits.addressOf('A'), units: 4_000_000n })
  // Blocks that are not empty: the chain puts others in their place.
  for (let block = 0; block < 5; block++) {
    await anvil.transfer({ to: anvil.payer, units: 1n })
  }
  await deposits.drain(watch)
  const final = await anvil.blockNumber('finalized')
  await anvil.reorg((await anvil.blockNumber()) - final + 1)
  await anvil.mine()
  const look = await watch.look()
  expect(look).toMatchObject({ kind: 'stopped', reason: expect.stringContaining(`block ${final}`) })
  await expect(watch.rewind(final + 100)).rejects.toThrow('would never be scanned')
  await watch.rewind(final - 3)
  expect((await deposits.drain(watch)).kind).toBe('idle')
  expect(await deposits.balance('A')).toBe(4_000_000)
})

test.each(['sqlite', 'postgres'] as const)(
  'on %s, a rescan of a restored backup credits later deposits once, also at addresses that the backup lacks',
  async (engine) => {
    await using deposits = await open({ engine })
    const { db } = deposits.bench.store
    const fromBlock = (await anvil.blockNumber('finalized')) + 1
    await anvil.transfer({ to: deposits.addressOf('A'), units: 3_000_000n })
    await anvil.mine()
    await deposits.drain()
    await anvil.transfer({ to: deposits.addressOf('B'), units: 4_000_000n })
    await anvil.mine()
    // As in a backup of before the address of B was handed out; the gateway has looked since.
    await db.deleteFrom('deposit_addresses').where('account_id', '=', 'B').execute()
    await deposits.drain()
    expect(await deposits.balance('B')).toBe(0)
    expect(await deposits.gateway().rescan(fromBlock)).toMatchObject({ added: 1 })
    expect(await deposits.gateway().rescan(fromBlock)).toMatchObject({ added: 0 })
    expect([await deposits.balance('A'), await deposits.balance('B')]).toEqual([
      3_000_000, 4_000_000,
    ])
  },
)
