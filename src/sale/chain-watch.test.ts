import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSqliteBench } from '../ledger/testing/sqlite-bench.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { ChainJob, hasMoreToScan } from './chain-look.ts'
import type { ChainWatch } from './chain-watch.ts'
import { moveCursor } from './cursors.ts'
import { addDepositAddresses, waitingCursorOf } from './deposit-rows.ts'
import { rescanChain } from './open-deposits.ts'
import { ChainWorld } from './testing/chain-world.ts'
import type { ModelChain, NodeState } from './testing/model-chain.ts'

type MineAgain = NonNullable<Parameters<ModelChain['replaceFinal']>[1]>

const NIGHT_MS = 25 * 60 * 60_000

let bench: StoreBench
beforeAll(async () => {
  bench = await createSqliteBench()
})
afterAll(() => bench.close())

/** A world, and a watch of it that has looked so often. */
async function lookedWorld(looks = 1) {
  const world = await ChainWorld.open(bench)
  const watch = world.watch()
  for (let look = 0; look < looks; look++) await watch.look()
  return { world, watch }
}

/** Makes a final block of transfers to the first account: the units of each, by the places of their tokens. */
function payFinally(world: ChainWorld, ...transfers: readonly (readonly [number, bigint])[]): void {
  const to = world.addresses[0] ?? ''
  world.model.pay(transfers.map(([token, units]) => ({ to, token, units })))
  world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(1)
}

function setNodes(world: ChainWorld, state: NodeState): void {
  for (const node of world.nodes) node.state = state
}

/** Does something else before the first node answers its next search for transfers. */
function onceAtLogs(world: ChainWorld, step: () => Promise<void>): void {
  const [node] = world.nodes
  const honest = node?.ask.bind(node) ?? expect.unreachable()
  let isFirst = true
  Object.assign(node ?? {}, {
    async ask(calls: Parameters<typeof honest>[0]) {
      if (isFirst && calls.some(({ method }) => method === 'eth_getLogs')) {
        isFirst = false
        await step()
      }
      return honest(calls)
    },
  })
}

test('a deposit that all nodes left out is found by the nightly scan, even if its token had no rate that night', async () => {
  const { world, watch } = await lookedWorld(2)
  setNodes(world, 'drops')
  payFinally(world, [1, 4_000_000n])
  await watch.look()
  setNodes(world, 'honest')
  world.model.hasRate = false
  payFinally(world, [1, 2_000_000n])
  await watch.look()
  world.nowMs += NIGHT_MS
  await watch.look()
  world.model.hasRate = true
  await watch.look()
  world.nowMs += NIGHT_MS
  await watch.look()
  expect(await world.balances()).toEqual([6_000_000, 0])
  expect(world.events).toContain('1 found late')
})

test('an address that was issued within the hour is watched although the database has lost its row', async () => {
  const world = await ChainWorld.open(bench)
  const { chainId, nowMs: createdAtMs, handedOut } = world
  const loseRows = () =>
    bench.db.deleteFrom('deposit_addresses').where('chain_id', '=', chainId).execute()
  const [address = ''] = world.addresses
  const [accountId = ''] = world.accounts
  handedOut.note({ chainId, address, accountId, createdAtMs })
  // Its account is gone too, and is not booked again yet.
  handedOut.note({ chainId, address: `0x${'03'.repeat(20)}`, accountId: 'gone', createdAtMs })
  const watch = world.watch()
  await watch.look()
  await watch.look()
  await loseRows()
  payFinally(world, [0, 4_000_000n])
  await watch.look()
  expect(await world.balances()).toEqual([4_000_000, 0])
  world.nowMs += NIGHT_MS
  await watch.look()
  await loseRows()
  payFinally(world, [0, 2_000_000n])
  await watch.look()
  expect(await world.balances()).toEqual([4_000_000, 0])
})

test('a look counts each deposit that it adds, and all dust once, even if another token has no rate', async () => {
  const { world, watch } = await lookedWorld()
  world.model.hasRate = false
  payFinally(world, [0, 3_000_000n], [0, 9n], [1, 2_000_000n], [1, 8n], [1, 7n])
  expect(await watch.look()).toMatchObject({ kind: 'advanced', added: 1 })
  world.model.hasRate = true
  expect(await watch.look()).toMatchObject({ kind: 'idle', added: 1 })
  expect(world.events.filter((event) => event.endsWith('dust'))).toEqual(['1 of dust', '2 of dust'])
})

test('the nightly scan reports the deposits that it found, even if another token has no rate', async () => {
  const { world, watch } = await lookedWorld(2)
  setNodes(world, 'drops')
  payFinally(world, [0, 3_000_000n], [1, 2_000_000n])
  await watch.look()
  setNodes(world, 'honest')
  world.model.hasRate = false
  world.nowMs += NIGHT_MS
  await watch.look()
  expect(await world.balances()).toEqual([3_000_000, 0])
  expect(world.events).toContain('1 found late')
})

test('a token that another gateway paused above the block of a rescan waits at that block', async () => {
  const world = await ChainWorld.open(bench)
  const { chainId, chain, accounts } = world
  const [watch, other] = [world.watch(), world.watch()]
  await watch.look()
  const address = `0x${'03'.repeat(20)}`
  world.model.pay([{ to: address, token: 1, units: 6_000_000n }])
  payFinally(world)
  payFinally(world, [1, 1n])
  await watch.look()
  const row = { chainId, address, accountId: accounts[0] ?? '', createdAtMs: world.nowMs }
  await addDepositAddresses(bench.db, [row])
  await watch.rewind(1)
  world.model.hasRate = false
  onceAtLogs(world, async () => {
    // The last step of a look that began before the rescan.
    const source = waitingCursorOf(chainId, chain.tokens[1]?.method ?? '')
    const block = { position: '2', blockHash: world.model.blocks[2]?.hash ?? '' }
    const to = { source, ...block, lookedAtMs: world.nowMs }
    expect(await moveCursor(bench.db, { from: null, to })).toBe(true)
  })
  await other.look()
  world.model.hasRate = true
  await other.look()
  expect(await world.balances()).toEqual([6_000_000, 0])
})

/** A world whose second token is eleven blocks behind, has a deposit in the first and the last of them, and has a rate again. */
async function openBehind(): Promise<ChainWorld> {
  const world = await ChainWorld.open(bench, { blocksAtOnceMax: 2 })
  const watch = world.watch()
  await watch.look()
  world.model.hasRate = false
  payFinally(world, [1, 2_000_000n])
  for (let block = 0; block < 9; block++) payFinally(world, [0, 1n])
  payFinally(world, [1, 5_000_000n])
  while (hasMoreToScan(await watch.look()));
  world.model.hasRate = true
  return world
}

test('a token whose rate is back is caught up part by part while the other tokens continue', async () => {
  const world = await openBehind()
  const watch = world.watch()
  payFinally(world, [0, 3_000_000n])
  const look = await watch.look()
  expect(look).toMatchObject({ to: 12, waiting: { USD1: { kind: 'catchingUp' } } })
  expect(await world.balances()).toEqual([2_000_000 + 3_000_000, 0])
  expect(hasMoreToScan(look)).toBe(true)
  for (let part = 0; part < 4; part++) await watch.look()
  expect(await watch.look()).toMatchObject({ waiting: {} })
  expect(await world.balances()).toEqual([10_000_000, 0])
})

test('the job looks again at once until a token is caught up', async () => {
  const world = await openBehind()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const job = new ChainJob({
    watch: world.watch(),
    onPass: (look) => {
      if (!hasMoreToScan(look)) resolve()
    },
    onFailure: reject,
  })
  job.start()
  await promise
  await job.stop()
  expect(await world.balances()).toEqual([7_000_000, 0])
})

test('a rescan continues until the tokens that have a rate are caught up', async () => {
  const world = await openBehind()
  const { accounts, addresses, chainId } = world
  const rescanned = await rescanChain({
    db: bench.db,
    clock: { nowMs: () => world.nowMs },
    chainId,
    addressOf: (accountId) => addresses[accounts.indexOf(accountId)] ?? `0x${'0f'.repeat(20)}`,
    watch: world.watch(),
    fromBlock: 12,
  })
  expect(rescanned).toMatchObject({ added: 2, to: 11, waiting: {} })
  expect(await world.balances()).toEqual([7_000_000, 0])
})

test('a rescan that would leave a single block out is refused, and one of the next block loses nothing', async () => {
  const { world, watch } = await lookedWorld()
  payFinally(world, [0, 1_000_000n])
  const look = await watch.look()
  const to = 'to' in look ? look.to : expect.unreachable()
  payFinally(world, [0, 2_000_000n])
  payFinally(world, [0, 4_000_000n])
  await expect(watch.rewind(to + 2)).rejects.toThrow('would never be scanned')
  await watch.rewind(to + 1)
  await watch.look()
  expect(await world.balances()).toEqual([7_000_000, 0])
})

test('a look that began before a rescan does not pass the blocks that the rescan goes back to', async () => {
  const world = await ChainWorld.open(bench)
  const [watch, other] = [world.watch(), world.watch()]
  await watch.look()
  // An address that the store of a restored backup lacks.
  const address = `0x${'03'.repeat(20)}`
  world.model.pay([{ to: address, token: 0, units: 6_000_000n }])
  payFinally(world, [0, 1n])
  payFinally(world, [0, 1n])
  onceAtLogs(world, async () => {
    const [accountId = ''] = world.accounts
    const { chainId } = world
    await addDepositAddresses(bench.db, [{ chainId, address, accountId, createdAtMs: world.nowMs }])
    // As far as the look has come.
    await other.rewind(1)
  })
  await watch.look()
  await other.look()
  expect(await world.balances()).toEqual([6_000_000, 0])
})

test('the nightly scan continues after a clock that was far ahead is set back', async () => {
  const { world, watch } = await lookedWorld(2)
  world.nowMs += 400 * NIGHT_MS
  await watch.look()
  world.nowMs -= 400 * NIGHT_MS
  await watch.look()
  setNodes(world, 'drops')
  payFinally(world, [0, 4_000_000n])
  await watch.look()
  setNodes(world, 'honest')
  world.nowMs += NIGHT_MS
  await watch.look()
  expect(await world.balances()).toEqual([4_000_000, 0])
})

/** Replaces the newest final block, and lets the watch go back as an operator would. */
async function replaceFinal(
  world: ChainWorld,
  { watch, mineAgain }: { readonly watch: ChainWatch; readonly mineAgain: MineAgain },
): Promise<void> {
  world.model.replaceFinal(1, mineAgain)
  for (let block = 0; block < 3; block++) world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(3)
  expect(await watch.look()).toMatchObject({ kind: 'stopped' })
  await watch.rewind(world.model.replacedFrom ?? expect.unreachable())
}

test('a chain replaced by a shorter one stops the watch if an earlier block shows the change, and is reported otherwise', async () => {
  const { world, watch } = await lookedWorld()
  for (let block = 0; block < 3; block++) payFinally(world, [0, 1n])
  // The nightly scan begins here.
  await watch.look()
  for (let block = 0; block < 3; block++) payFinally(world, [0, 1n])
  await watch.look()
  world.model.replaceFinal(2)
  expect(await watch.look()).toEqual({
    kind: 'unavailable',
    reason:
      'the newest final block is 4, below block 6, where the last look ended: the nodes are behind, or the chain was replaced by a shorter one',
  })
  world.model.replaceFinal(3)
  for (let block = 0; block < 2; block++) world.model.mine({ most: 1, isReversed: false })
  world.model.finalize(2)
  expect(await watch.look()).toEqual({
    kind: 'stopped',
    reason: 'block 3 was final, and another block is in its place now',
  })
})

test('a transaction that pays another account after a final block was replaced adds no credit and blocks no later deposit', async () => {
  const { world, watch } = await lookedWorld()
  payFinally(world, [0, 3_000_000n])
  await watch.look()
  const [, other = ''] = world.addresses
  const mineAgain: MineAgain = (logs) => logs.map((log) => ({ ...log, to: other }))
  await replaceFinal(world, { watch, mineAgain })
  payFinally(world, [0, 4_000_000n])
  expect(await watch.look()).toMatchObject({ kind: 'advanced', added: 1 })
  expect(await watch.look()).toMatchObject({ kind: 'idle' })
  expect(await world.balances()).toEqual([7_000_000, 0])
  expect(world.events).toContain(`pur_${world.chainId}_1 contradicted`)
})

test('deposits that a replaced final block has at other places of their transaction are credited once', async () => {
  const { world, watch } = await lookedWorld()
  const [one = '', two = ''] = world.addresses
  const [log, ofOther] = [
    { to: one, token: 0, units: 2_000_000n },
    { to: two, token: 0, units: 2_000_000n },
  ]
  world.model.pay([log, log, ofOther])
  payFinally(world)
  await watch.look()
  const before = { to: `0x${'0e'.repeat(20)}`, token: 0, units: 1n }
  await replaceFinal(world, { watch, mineAgain: (logs) => [before, ...logs] })
  expect(await watch.look()).toMatchObject({ kind: 'advanced', added: 0 })
  await watch.rewind(1)
  await watch.look()
  expect(await world.balances()).toEqual([4_000_000, 2_000_000])
})
