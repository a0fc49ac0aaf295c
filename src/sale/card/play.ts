import type { Kysely } from 'kysely'
import { PLAY_CHECKOUTS } from '../../store/sale-tables.ts'
import type { Tables } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { type Clock, MINUTE_MS } from '../../vocabulary/clock.ts'
import type { CardAsked, CardFact, CardProvider } from './provider.ts'

const NAME = 'play'
const OPEN_MS = 30 * MINUTE_MS

/**
 * The card provider of the simulator: pages of the gateway's own, on which play money is paid. They are rows of
 * the store, so that any process of it shows them, and a restart loses none.
 */
export class PlayCard implements CardProvider {
  readonly name = NAME
  readonly chargesCards = false
  readonly lookIntervalMs = 0
  readonly #db: Kysely<Tables>
  readonly #clock: Clock
  readonly #publicUrl: () => string

  constructor(input: {
    readonly db: Kysely<Tables>
    readonly clock: Clock
    /** The address of the gateway for browsers. */
    readonly publicUrl: () => string
  }) {
    this.#db = input.db
    this.#clock = input.clock
    this.#publicUrl = input.publicUrl
  }

  async begin({ purchaseId, accountId, cents }: CardAsked) {
    const expiresAtMs = this.#clock.nowMs() + OPEN_MS
    const row = { id: purchaseId, cents: Number(cents), state: 'open', expiresAtMs } as const
    await this.#db
      .insertInto('play_checkouts')
      .values(PLAY_CHECKOUTS.record(row))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
    const url = this.#pageOf({ id: purchaseId, accountId })
    return { source: `${NAME}:${purchaseId}`, url, expiresAtMs }
  }

  async openPage(payment: Parameters<CardProvider['openPage']>[0]): Promise<string | null> {
    const checkout = await this.find(payment.source.slice(NAME.length + 1))
    return checkout?.state === 'open' ? this.#pageOf(payment) : null
  }

  #pageOf({ id, accountId }: { readonly id: string; readonly accountId: string }): string {
    return `${this.#publicUrl()}/play/checkout/${id}?account=${accountId}`
  }

  /** A page that is not there was never paid on, and can't be. */
  async look({ source }: Parameters<CardProvider['look']>[0]): Promise<CardFact> {
    const checkout = await this.find(source.slice(NAME.length + 1))
    if (checkout === null) return { kind: 'expired' }
    switch (checkout.state) {
      case 'open':
      case 'expired':
        return { kind: checkout.state }
      case 'paid':
        return {
          kind: 'paid',
          paid: { currency: 'usd', units: BigInt(checkout.cents) },
          reversedUnits: 0n,
          paymentRef: checkout.id,
          dispute: null,
          netUnits: BigInt(checkout.cents),
          doubt: null,
        }
      default:
        return assertNever(checkout.state)
    }
  }

  /** A page as it is now, expired if its time is over. Null if there is none. */
  async find(checkoutId: string) {
    const found = await this.#read(checkoutId)
    if (found?.state !== 'open' || this.#clock.nowMs() < found.expiresAtMs) return found
    // Its row decides, under its lock: once a look has found it expired, it is never paid.
    await this.#close(checkoutId, 'expired')
    return this.#read(checkoutId)
  }

  async #read(checkoutId: string) {
    return PLAY_CHECKOUTS.readOne(
      this.#db.selectFrom('play_checkouts').selectAll().where('id', '=', checkoutId),
    )
  }

  /** Pays an open page with play money; returns the source to look at. Null: it is not open. */
  async pay(checkoutId: string): Promise<string | null> {
    return (await this.#close(checkoutId, 'paid')) ? `${NAME}:${checkoutId}` : null
  }

  /** Closes an open page: as paid before its time is over, or as expired after it. */
  async #close(checkoutId: string, state: 'paid' | 'expired'): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('play_checkouts')
      .set({ state })
      .where('id', '=', checkoutId)
      .where('state', '=', 'open')
      .where('expires_at_ms', state === 'paid' ? '>' : '<=', this.#clock.nowMs())
      .executeTakeFirst()
    return numUpdatedRows === 1n
  }
}
