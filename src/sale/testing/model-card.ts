import type { PurchaseRow } from '../../store/sale-tables.ts'
import type {
  CardAsked,
  CardChange,
  CardFact,
  CardPayment,
  CardProvider,
} from '../card/provider.ts'

interface Payment extends CardPayment {
  isPaid: boolean
  backCents: bigint
}

/** A card provider in memory: pages are paid, and money goes back. Each change is reported. */
export class ModelCard implements CardProvider {
  readonly name: string
  readonly chargesCards = false
  readonly lookIntervalMs = 60_000
  readonly payments: Payment[] = []
  readonly #reports: CardChange[] = []
  readonly #nowMs: () => number

  constructor(name: string, nowMs: () => number) {
    this.name = name
    this.#nowMs = nowMs
  }

  async begin(asked: CardAsked) {
    const source = `${this.name}:${asked.purchaseId}`
    this.payments.push({ ...asked, source, isPaid: false, backCents: 0n })
    return { source, url: 'http://there', expiresAtMs: this.#nowMs() + 60 * 60_000 }
  }

  pay(index: number): void {
    const payment = this.payments[index]
    if (payment === undefined || payment.isPaid) return
    payment.isPaid = true
    this.#report(payment)
  }

  /** Pays back so many cents more, if so many are left. */
  refund(index: number, cents: bigint): void {
    const payment = this.payments[index]
    if (payment?.isPaid !== true || payment.backCents + cents > payment.cents) return
    payment.backCents += cents
    this.#report(payment)
  }

  async openPage(): Promise<string | null> {
    return null
  }

  async look({ source }: Pick<PurchaseRow, 'source'>): Promise<CardFact> {
    const payment = this.payments.find((each) => each.source === source)
    if (payment === undefined) throw new Error(`no payment ${source}`)
    if (!payment.isPaid) return { kind: 'open' }
    return {
      kind: 'paid',
      paid: { currency: 'usd', units: payment.cents },
      reversedUnits: payment.backCents,
      paymentRef: `ref of ${source}`,
      dispute: null,
      netUnits: payment.cents,
      doubt: null,
    }
  }

  async *changedSince(position: number | null): AsyncIterable<CardChange> {
    yield* this.#reports.filter((report) => report.position >= (position ?? 0))
  }

  #report(of: Payment): void {
    const id = `report ${this.#reports.length}`
    this.#reports.push({ id, position: Math.floor(this.#nowMs() / 1_000), of })
  }
}
