import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findPurchase } from '../ledger/purchases.ts'
import type { PostPurchaseInput } from '../ledger/rules/post-purchase.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { CardMethod } from './card/card-method.ts'
import type { CardProvider } from './card/provider.ts'
import { CardPoll } from './card-poll.ts'
import { Sale } from './sale.ts'
import { CARD_LIMITS, CREDIT, NO_CEILINGS } from './testing/card-bench.ts'
import { Crash, failureOfHistories, liveHistories } from './testing/histories.ts'
import { ModelCard } from './testing/model-card.ts'

// Each gateway counts the ceilings one payment after the other: more would only wait for each other.
const SIDE_BY_SIDE = 2
const PAYMENTS = 3
const MICROS_PER_CENT = 10_000

type Moment = 'before' | 'after' | null

const of = fc.nat(PAYMENTS - 1)
const crash = fc.constantFrom<Moment>(null, null, null, 'before', 'after')

const step = fc.oneof(
  fc.record({ kind: fc.constant('pay' as const), of }),
  fc.record({
    kind: fc.constant('refund' as const),
    of,
    cents: fc.constantFrom(1n, 333n, 500n, 1_000n),
  }),
  // The provider has answered, and the answer is on its way.
  fc.record({ kind: fc.constant('look' as const), of, crash }),
  fc.record({ kind: fc.constant('arrive' as const), which: fc.nat(5) }),
  fc.record({ kind: fc.constant('poll' as const), gateway: fc.nat(1), crash }),
)

const history = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' })

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A look whose answers arrive when a test lets them. */
class HeldLook {
  isOver = false
  #let: () => void = () => {}
  #arrival = Promise.withResolvers<void>()
  #over: Promise<void> = Promise.resolve()

  async begin(look: (hold: () => Promise<void>) => Promise<unknown>): Promise<void> {
    this.#over = look(() => {
      this.#arrival.resolve()
      return new Promise((resolve) => {
        this.#let = resolve
      })
    }).then(
      () => {
        this.isOver = true
      },
      (error: unknown) => {
        this.isOver = true
        if (!(error instanceof Crash)) throw error
      },
    )
    await Promise.race([this.#over, this.#arrival.promise])
  }

  /** Lets the answer arrive; resolves when the look is over, or has asked once more. */
  async arrive(): Promise<void> {
    this.#arrival = Promise.withResolvers()
    this.#let()
    await Promise.race([this.#over, this.#arrival.promise])
  }
}

let worlds = 0

/** A test's change to a look before it is posted. */
type Weaken = (input: PostPurchaseInput) => Promise<PostPurchaseInput>

/** Purchases of an account by card on a store, and what the gateways of that store do about them. */
class CardWorld {
  readonly account = `C${++worlds}`
  readonly card: ModelCard
  readonly sources: string[] = []
  /** The most that each payment's row has ever said to have gone back. */
  readonly #back = new Map<string, number>()
  readonly #bench: StoreBench
  readonly #weaken: Weaken
  #nowMs = 1_700_000_000_000
  #ids = 0

  constructor(bench: StoreBench, weaken: Weaken = async (input) => input) {
    this.#bench = bench
    this.#weaken = weaken
    this.card = new ModelCard(`model${worlds}`, () => this.#nowMs)
  }

  async open(): Promise<void> {
    await this.#bench.createAccount(this.account)
    const sale = this.sale(this.card)
    const method = cardOf(sale)
    for (let count = 0; count < PAYMENTS; count++) {
      const begun = await sale.begin({ method, accountId: this.account, creditMicros: CREDIT })
      if (begun.kind !== 'begun') throw new Error(begun.kind)
      this.sources.push(begun.purchase.source)
    }
  }

  sale(provider: CardProvider, crash: () => Moment = () => null): Sale {
    const { store, ledger } = this.#bench
    const weaken = this.#weaken
    return new Sale({
      methods: [new CardMethod({ provider, ...CARD_LIMITS })],
      db: store.db,
      ledger: {
        async postPurchase(input, by) {
          const moment = crash()
          if (moment === 'before') throw new Crash()
          const verdict = await ledger.postPurchase(await weaken(input), by)
          if (moment === 'after') throw new Crash()
          return verdict
        },
      },
      ids: { next: () => `pur_${this.account}_${++this.#ids}` },
      clock: { nowMs: () => this.#nowMs },
      ceilings: NO_CEILINGS,
      seller: null,
      onCreditChanged: async () => {},
    })
  }

  /** The poll of a gateway. */
  poll(crash?: () => Moment): CardPoll {
    const sale = this.sale(this.card, crash)
    return new CardPoll({
      db: this.#bench.db,
      sale,
      method: cardOf(sale),
      clock: { nowMs: () => this.#nowMs },
      onFailure: (_source, cause) => {
        if (!(cause instanceof Crash)) throw cause
      },
    })
  }

  /** A look whose answers a test lets arrive. */
  async look(index: number, moment: Moment): Promise<HeldLook> {
    const held = new HeldLook()
    await held.begin((hold) => {
      const { card } = this
      const slow: CardProvider = {
        name: card.name,
        chargesCards: false,
        lookIntervalMs: card.lookIntervalMs,
        begin: (asked) => card.begin(asked),
        openPage: () => card.openPage(),
        async look(payment) {
          const fact = await card.look(payment)
          await hold()
          return fact
        },
      }
      return this.sale(slow, () => moment).look(this.sources[index] ?? '')
    })
    return held
  }

  pass(laterMs: number): void {
    this.#nowMs += laterMs
  }

  /** Throws if a row says that less went back than it said before, or more is credited than is left. */
  async expectSound(): Promise<void> {
    const rows = await this.#bench.db
      .selectFrom('purchases')
      .select(['source', 'reversed_micros'])
      .where('account_id', '=', this.account)
      .execute()
    for (const { source, reversed_micros } of rows) {
      const back = Number(reversed_micros)
      expect(back, `went back of ${source}`).toBeGreaterThanOrEqual(this.#back.get(source) ?? 0)
      this.#back.set(source, back)
    }
    const paid = this.card.payments.filter(({ isPaid }) => isPaid).length
    expect(await this.#balance()).toBeLessThanOrEqual(paid * CREDIT)
  }

  /** Throws unless the credit is exactly the paid amount less the refunds. */
  async expectExact(): Promise<void> {
    const left = this.card.payments.map(({ isPaid, cents, backCents }) =>
      isPaid ? Number(cents - backCents) * MICROS_PER_CENT : 0,
    )
    expect(await this.#balance()).toBe(left.reduce((sum, micros) => sum + micros, 0))
  }

  async #balance(): Promise<number> {
    return (await this.#bench.account(this.account)).backedBalanceMicros
  }
}

function cardOf({ methods: [method] }: Sale): CardMethod {
  if (method?.kind !== 'card') throw new Error('no card')
  return method
}

/** Lives through a history; throws if money that went back is credited again, or more than was paid. */
async function live(
  bench: StoreBench,
  steps: readonly Step[],
  weaken?: Weaken,
): Promise<{ readonly world: CardWorld; readonly underWay: readonly HeldLook[] }> {
  const world = new CardWorld(bench, weaken)
  await world.open()
  let crash: Moment = null
  const polls = [1, 2].map(() =>
    world.poll(() => {
      const moment = crash
      crash = null
      return moment
    }),
  )
  let underWay: HeldLook[] = []
  for (const each of steps) {
    world.pass(1_000)
    switch (each.kind) {
      case 'pay':
        world.card.pay(each.of)
        break
      case 'refund':
        world.card.refund(each.of, each.cents)
        break
      case 'look':
        underWay.push(await world.look(each.of, each.crash))
        break
      case 'arrive':
        await underWay[each.which % underWay.length]?.arrive()
        underWay = underWay.filter(({ isOver }) => !isOver)
        break
      case 'poll':
        crash = each.crash
        await polls[each.gateway]?.look()
        crash = null
        break
    }
    if (each.kind !== 'pay' && each.kind !== 'refund') await world.expectSound()
  }
  return { world, underWay }
}

/** Lets every answer arrive, and a gateway poll that knows the rows alone. */
async function end({ world, underWay }: Awaited<ReturnType<typeof live>>): Promise<void> {
  for (const look of underWay) {
    while (!look.isOver) await look.arrive()
    await world.expectSound()
  }
  world.pass(60_000)
  await world.poll().look()
  await world.expectExact()
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  beforeAll(async () => {
    bench = await open()
  })
  afterAll(() => bench.close())

  test('in any order of payments, refunds and late looks, refunded money is never credited again and the final credit is exact', async () => {
    const whole = async (steps: readonly Step[]) => end(await live(bench, steps))
    await liveHistories(history, whole, { sideBySide: SIDE_BY_SIDE })
    await bench.audit()
  })

  test('a dropped seenReversals is caught', async () => {
    const weaken: Weaken = async (input) => {
      const row = await findPurchase(bench.db, input.source)
      return { ...input, seenReversals: row?.reversals ?? 0 }
    }
    // The answer from before the refund arrives after it.
    const script: Step[] = [
      { kind: 'pay', of: 0 },
      { kind: 'look', of: 0, crash: null },
      { kind: 'refund', of: 0, cents: 333n },
      { kind: 'poll', gateway: 0, crash: null },
      { kind: 'arrive', which: 0 },
    ]
    const wentUp = /went back of .* expected \d+ to be greater/
    await end(await live(bench, script))
    await expect(live(bench, script, weaken)).rejects.toThrow(wentUp)
    // The random histories show it too.
    const weakened = async (steps: readonly Step[]) => end(await live(bench, steps, weaken))
    expect(await failureOfHistories(history, weakened)).toMatch(wentUp)
  })
})
