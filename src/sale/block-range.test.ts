import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { hasMoreToScan } from './chain-look.ts'
import type { ChainWatch } from './chain-watch.ts'
import { ChainWorld } from './testing/chain-world.ts'

describe.each(STORE_BENCHES)(
  'nodes that search four blocks at a time, on $engine',
  ({ open: openBench }) => {
    let bench: StoreBench
    beforeAll(async () => {
      bench = await openBench()
    })
    afterAll(() => bench.close())

    /** A world whose first look was at block 0. */
    async function open(): Promise<{ world: ChainWorld; watch: ChainWatch }> {
      const world = await ChainWorld.open(bench)
      for (const node of world.nodes) node.logBlocksMax = 4
      const watch = world.watch()
      await watch.look()
      return { world, watch }
    }

    function mine(world: ChainWorld, blocks: number): void {
      for (let block = 0; block < blocks; block++) world.model.mine({ most: 1, isReversed: false })
      world.model.finalize(blocks)
    }

    /** As the job does: looks at once again while there is more. */
    async function lookOnce(watch: ChainWatch): Promise<number> {
      let looks = 1
      while (hasMoreToScan(await watch.look())) looks++
      return looks
    }

    const refusals = (world: ChainWorld) =>
      world.nodes.reduce((sum, { refused }) => sum + refused, 0)

    test('a gap of sixty blocks is closed without a wait, and its first look credits the first deposit', async () => {
      const { world, watch } = await open()
      world.pay(0, 2_000_000n)
      mine(world, 59)
      world.pay(1, 3_000_000n)
      mine(world, 1)
      // Sixty blocks, three at a time: the first look halves from sixty to three.
      expect(hasMoreToScan(await watch.look())).toBe(true)
      expect(await world.balances()).toEqual([2_000_000, 0])
      expect(await lookOnce(watch)).toBe(19)
      expect(await world.balances()).toEqual([2_000_000, 3_000_000])
      expect(refusals(world)).toBe(4 * world.nodes.length)
    })

    test('thirty new blocks a minute are followed, and no larger range is tried for an hour', async () => {
      const { world, watch } = await open()
      mine(world, 60)
      await lookOnce(watch)
      const before = refusals(world)
      // A look each 15 seconds.
      for (let minute = 0; minute < 3; minute++) {
        for (const blocks of [7, 8, 7, 8]) {
          world.pay(0, 1_000_000n)
          mine(world, blocks)
          await lookOnce(watch)
        }
      }
      expect(await world.balances()).toEqual([12_000_000, 0])
      expect(refusals(world)).toBe(before)
    })

    test('another process begins with the range that the store has', async () => {
      const { world, watch } = await open()
      mine(world, 60)
      await lookOnce(watch)
      const before = refusals(world)
      mine(world, 60)
      expect(await lookOnce(world.watch())).toBe(20)
      expect(refusals(world)).toBe(before)
    })

    test('a larger range is tried after an hour, and kept when nodes answer it', async () => {
      const { world, watch } = await open()
      mine(world, 60)
      await lookOnce(watch)
      for (const node of world.nodes) node.logBlocksMax = 1_000
      world.nowMs += 61 * 60_000
      mine(world, 600)
      // 3, 6, 12 … 384 blocks.
      expect(await lookOnce(watch)).toBe(8)
    })

    test('the range stays the same while nodes do not answer', async () => {
      const { world, watch } = await open()
      mine(world, 8)
      for (const node of world.nodes) node.logBlocksMax = 0
      expect(await watch.look()).toMatchObject({ kind: 'unavailable' })
      for (const node of world.nodes) node.logBlocksMax = 1_000
      mine(world, 200)
      expect(await lookOnce(watch)).toBe(1)
    })
  },
)
