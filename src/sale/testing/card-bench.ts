import { findPurchase } from '../../ledger/purchases.ts'
import type { STORE_BENCHES } from '../../ledger/testing/benches.ts'
import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import { CardMethod } from '../card/card-method.ts'
import { StripeCard } from '../card/stripe.ts'
import { CardPoll } from '../card-poll.ts'
import type { CeilingSettings } from '../sale.ts'
import { Sale } from '../sale.ts'
import { StripeServer } from './stripe-server.ts'

/** The credit of a purchase, unless a test says otherwise. */
export const CREDIT = micros(10_000_000)

export const MINUTE_MS = 60_000

/** The limits of one purchase. */
export const CARD_LIMITS = {
  minimumMicros: micros(5_000_000),
  maximumMicros: micros(500_000_000),
  feeBps: 0,
}

export const NO_CEILINGS: CeilingSettings = {
  holdAboveMicros: micros(1e12),
  holdAboveDailyMicros: micros(1e12),
}

/** The sale by card on a store, at a Stripe that the test plays. Account `A` is old. */
export class CardBench {
  readonly store: StoreBench
  readonly stripe: StripeServer
  /** The failures that polls reported. */
  readonly failures: string[] = []
  #ids = 0

  private constructor(store: StoreBench, stripe: StripeServer) {
    this.store = store
    this.stripe = stripe
  }

  static async open(open: (typeof STORE_BENCHES)[number]['open']): Promise<CardBench> {
    const store = await open()
    const stripe = await StripeServer.start()
    await store.createAccount('A')
    store.nowMs = stripe.nowMs
    return new CardBench(store, stripe)
  }

  /** Audits and closes. */
  async close(): Promise<void> {
    await this.store.audit()
    await this.stripe.close()
    await this.store.close()
  }

  /** A gateway of the store, with its own memory. */
  gateway(ceilings: CeilingSettings = NO_CEILINGS) {
    const { store, stripe } = this
    const { db } = store.store
    const { secretKey, baseUrl } = stripe
    const clock = { nowMs: () => stripe.nowMs }
    const storeId = async () => 'store_1'
    const publicUrl = () => 'https://gate.example'
    const provider = new StripeCard({ secretKey, baseUrl, publicUrl, storeId, clock })
    const method = new CardMethod({ provider, ...CARD_LIMITS })
    const sale = new Sale({
      methods: [method],
      db,
      ledger: store.ledger,
      ids: { next: (prefix) => `${prefix}_${++this.#ids}` },
      clock,
      ceilings,
      seller: null,
      onCreditChanged: async () => {},
    })
    const onFailure = (source: string | null, cause: unknown) =>
      void this.failures.push(`${source}: ${cause}`)
    const poll = new CardPoll({ db, sale, method, clock, onFailure })
    const ask = (accountId = 'A', creditMicros: Micros = CREDIT) =>
      sale.begin({ method, accountId, creditMicros })
    return {
      sale,
      poll,
      method,
      ask,
      async begin(accountId = 'A', creditMicros: Micros = CREDIT) {
        const begun = await ask(accountId, creditMicros)
        if (begun.kind !== 'begun') throw new Error(begun.kind)
        return begun.purchase.source
      },
      /** A look a minute later. */
      async pass(laterMs = MINUTE_MS) {
        stripe.nowMs += laterMs
        store.nowMs = stripe.nowMs
        await poll.look()
      },
    }
  }

  /** A gateway with a purchase that is credited. */
  async paid() {
    const serving = this.gateway()
    const source = await serving.begin()
    this.stripe.pay(source)
    await serving.pass()
    if ((await this.balance()) !== CREDIT) throw new Error('the payment is not credited')
    return { ...serving, source }
  }

  async balance(accountId = 'A'): Promise<number> {
    return (await this.store.account(accountId)).backedBalanceMicros
  }

  purchase(source: string) {
    return findPurchase(this.store.store.db, source)
  }

  async stateOf(source: string) {
    return (await this.purchase(source))?.state
  }
}
