import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { RescanFailed } from './chain/terms.ts'
import { hasMoreToScan } from './chain-look.ts'
import type { ChainWatch } from './chain-watch.ts'
import { ChainWorld, type ChainWorldInput } from './testing/chain-world.ts'
import { Crash, failureOfHistories, liveHistories } from './testing/histories.ts'
import type { NodeState } from './testing/model-chain.ts'

// Gateways count the ceilings one after the other: PostgreSQL refuses one that waits for two seconds.
const SIDE_BY_SIDE = 4
const NIGHT_MS = 25 * 60 * 60_000

const step = fc.oneof(
  fc.record({
    kind: fc.constant('pay' as const),
    to: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }),
    token: fc.nat(1),
    units: fc.constantFrom(0n, 999_999n, 1_000_000n, 7_000_000n, 7_000_000n, 50_000_001n),
  }),
  fc.record({
    kind: fc.constant('mine' as const),
    blocks: fc.integer({ min: 1, max: 3 }),
    most: fc.integer({ min: 1, max: 3 }),
    isReversed: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('reorg' as const),
    depth: fc.integer({ min: 1, max: 4 }),
    isLossy: fc.boolean(),
  }),
  // Final blocks are replaced, which no look gets over: an operator goes back.
  fc.record({
    kind: fc.constant('replaceFinal' as const),
    depth: fc.integer({ min: 1, max: 4 }),
    moves: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('finalize' as const), blocks: fc.integer({ min: 1, max: 5 }) }),
  fc.record({
    kind: fc.constant('look' as const),
    watch: fc.nat(1),
    crash: fc.constantFrom(null, null, 'before' as const, 'after' as const),
  }),
  fc.record({ kind: fc.constant('both' as const) }),
  // An operator goes back, while another gateway looks.
  fc.record({ kind: fc.constant('rewind' as const), blocks: fc.nat(6) }),
  fc.record({ kind: fc.constant('night' as const) }),
  // Without a rate, the deposits of the second token wait.
  fc.record({ kind: fc.constant('rate' as const), isThere: fc.boolean() }),
  // At most one node is not honest at a time: the other two are a quorum that says the truth.
  fc.record({
    kind: fc.constant('node' as const),
    node: fc.nat(2),
    state: fc.constantFrom<NodeState>('honest', 'down', 'behind', 'drops', 'forges'),
  }),
)

/** A transfer to no deposit address, before the others of its transaction. */
const OTHER_LOG = { to: `0x${'0e'.repeat(20)}`, units: 1n, token: 0 }

const history = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' })

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Lives through a history; throws if more is credited than is final. */
async function live(
  bench: StoreBench,
  steps: readonly Step[],
  weak: ChainWorldInput = {},
): Promise<ChainWorld> {
  let crash: 'before' | 'after' | null = null
  const world = await ChainWorld.open(bench, {
    ...weak,
    onPost(moment) {
      if (moment !== crash) return
      crash = null
      throw new Crash()
    },
  })
  const watches = [world.watch(), world.watch()]
  // Even a watch that is weakened has a block to begin at.
  for (let block = 0; block < 2; block++) world.model.mine({ most: 0, isReversed: false })
  world.model.finalize(2)
  await watches[0]?.look()
  for (const each of steps) {
    switch (each.kind) {
      case 'pay':
        world.model.pay(
          each.to.map((to) => ({
            to: world.addresses[to] ?? `0x${'0f'.repeat(20)}`,
            units: each.units,
            token: each.token,
          })),
        )
        break
      case 'mine':
        for (let block = 0; block < each.blocks; block++) world.model.mine(each)
        break
      case 'reorg':
        world.model.reorg(each)
        break
      case 'replaceFinal':
        world.model.replaceFinal(each.depth, (logs) => (each.moves ? [OTHER_LOG, ...logs] : logs))
        break
      case 'finalize':
        world.model.finalize(each.blocks)
        break
      case 'rewind': {
        const from = Math.max(1, world.model.finalBlock + 1 - each.blocks)
        await Promise.all([rewind(world, { watch: watches[0], from }), watches[1]?.look()])
        break
      }
      case 'rate':
        world.model.hasRate = each.isThere
        break
      case 'night':
        world.nowMs += NIGHT_MS
        break
      case 'node':
        for (const node of world.nodes) node.state = 'honest'
        Object.assign(world.nodes[each.node] ?? {}, { state: each.state })
        break
      case 'look':
        crash = each.crash
        await watches[each.watch]?.look().catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error
        })
        crash = null
        break
      case 'both':
        await Promise.all(watches.map((watch) => watch.look()))
        break
    }
    const hasLooked = each.kind === 'look' || each.kind === 'both' || each.kind === 'rewind'
    if (hasLooked) expectAtMost(await world.balances(), world)
  }
  return world
}

/** Goes back to a block, or to the first that was final and was replaced, if nodes let it. */
async function rewind(
  { model }: ChainWorld,
  { watch, from }: { readonly watch: ChainWatch | undefined; readonly from: number },
): Promise<void> {
  const { replacedFrom } = model
  try {
    await watch?.rewind(Math.min(from, replacedFrom ?? from))
    if (model.replacedFrom === replacedFrom) model.replacedFrom = null
  } catch (error) {
    if (!(error instanceof RescanFailed)) throw error
  }
}

/**
 * Ends a history with honest nodes; throws if a final deposit is not credited then, or anything else is but a deposit that
 * was final.
 */
async function end(world: ChainWorld): Promise<void> {
  for (const node of world.nodes) node.state = 'honest'
  world.model.hasRate = true
  world.model.mineAll()
  world.model.finalize(Number.MAX_SAFE_INTEGER)
  const watch = world.watch()
  const { replacedFrom } = world.model
  if (replacedFrom !== null) await rewind(world, { watch, from: replacedFrom })
  for (;;) {
    const look = await watch.look()
    if ('reason' in look) throw new Error(JSON.stringify(look))
    if (look.kind === 'idle' && !hasMoreToScan(look)) break
  }
  const balances = await world.balances()
  expectAtMost(balances, world)
  expect(balances.map((balance, index) => Math.min(balance, world.finalUnits[index] ?? 0))).toEqual(
    world.finalUnits,
  )
}

function expectAtMost(balances: readonly number[], { everFinalUnits }: ChainWorld): void {
  balances.forEach((balance, index) => {
    expect(balance).toBeLessThanOrEqual(everFinalUnits[index] ?? 0)
  })
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  beforeAll(async () => {
    bench = await open()
  })
  afterAll(() => bench.close())

  test.each([2_000, 1])(
    '%i blocks at a time, in any history of a chain and its nodes, credit never exceeds the final deposits and ends equal to them',
    async (blocksAtOnceMax) => {
      const whole = async (steps: readonly Step[]) =>
        end(await live(bench, steps, { blocksAtOnceMax }))
      await liveHistories(history, whole, { sideBySide: SIDE_BY_SIDE })
      await bench.audit()
    },
  )
})

const BLOCKS: Step = { kind: 'mine', blocks: 3, most: 3, isReversed: false }
const LOOK: Step = { kind: 'look', watch: 0, crash: null }
const PAYMENT: Step = { kind: 'pay', to: [0], token: 0, units: 7_000_000n }

describe('a weakened watch is caught', () => {
  let bench: StoreBench
  beforeAll(async () => {
    bench = await (STORE_BENCHES[0]?.open() ?? Promise.reject())
  })
  afterAll(() => bench.close())

  test.each([
    [
      'that believes one node',
      { chain: { quorum: 1 }, nodes: 1 },
      [{ kind: 'node', node: 0, state: 'forges' }, BLOCKS, { kind: 'finalize', blocks: 1 }, LOOK],
    ],
    ['that credits the newest block', { chain: { confirm: 0 } }, [PAYMENT, BLOCKS, LOOK]],
    [
      'that credits two blocks below the newest',
      { chain: { confirm: 2 } },
      [PAYMENT, BLOCKS, LOOK],
    ],
  ] satisfies [string, ChainWorldInput, Step[]][])('a watch %s', async (_which, weak, script) => {
    const tooMuch = /expected \d+ to be less than or equal to \d+/
    await live(bench, script)
    await expect(live(bench, script, weak)).rejects.toThrow(tooMuch)
    // The random histories show it too.
    expect(await failureOfHistories(history, (steps) => live(bench, steps, weak))).toMatch(tooMuch)
  })
})
