import { createHmac, timingSafeEqual } from 'node:crypto'
import type Stripe from 'stripe'
import type { PurchaseRow } from '../../store/sale-tables.ts'
import { HOUR_MS, MINUTE_MS } from '../../vocabulary/clock.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import { DISPUTES, type Dispute, formatUnits, takesBack } from '../../vocabulary/purchase.ts'
import {
  type CardAsked,
  type CardChange,
  type CardFact,
  type CardPayment,
  type CardProvider,
  PaymentUnavailable,
} from './provider.ts'

const NAME = 'stripe'

// The least that Stripe takes is half an hour, by its own clock.
const OPEN_MS = HOUR_MS

/** The limit of one call, which is repeated once: a purchase answers within half a minute. */
const CALL_TIMEOUT_MS = 12_000

const OPEN_LOOK_MS = 5 * MINUTE_MS

/** The events that require a look. */
const EVENT_TYPES = [
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'charge.refunded',
  'charge.refund.updated',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const satisfies readonly Stripe.Event.Type[]

/** How the gateway reaches Stripe. */
export interface StripeSettings {
  readonly secretKey: string
  /** Null: Stripe's own address. */
  readonly baseUrl: string | null
}

interface StripeCardInput extends StripeSettings {
  /** The address that browsers come back to. */
  readonly publicUrl: () => string
  /** Identifies the sessions of this store among those of other stores on the same Stripe account. */
  readonly storeId: () => Promise<string>
  readonly clock: { nowMs(): number }
}

/** The package `stripe` is not installed. */
export class StripeMissing extends Error {
  override readonly name = 'StripeMissing'

  constructor() {
    super(
      'STRIPE_SECRET_KEY is set, but the package stripe is not installed: npm install stripe (in the folder of tollgate; with --global if tollgate was installed so)',
    )
  }
}

/** Payments on pages of Stripe Checkout. */
export class StripeCard implements CardProvider {
  readonly name = NAME
  readonly chargesCards = true
  readonly lookIntervalMs = OPEN_LOOK_MS
  readonly #input: StripeCardInput
  #stripe: Promise<Stripe> | null = null

  constructor(input: StripeCardInput) {
    this.#input = input
  }

  /** Loads the package, on first use. Rejects with `StripeMissing`. */
  load(): Promise<Stripe> {
    this.#stripe ??= loadStripe(this.#input)
    return this.#stripe
  }

  async begin({ purchaseId, accountId, creditMicros, cents }: CardAsked) {
    const { publicUrl, clock, storeId } = this.#input
    const metadata = {
      tollgate_store: await storeId(),
      tollgate_purchase: purchaseId,
      tollgate_account: accountId,
      tollgate_credit_micros: String(creditMicros),
      tollgate_price_cents: String(cents),
    }
    const name = `$${formatUnits(BigInt(creditMicros) / 10_000n, 2)} of credit`
    const back = `${publicUrl()}/app/${accountId}/credit`
    const checkout = await this.#ask((stripe) =>
      stripe.checkout.sessions.create(
        {
          mode: 'payment',
          allowed_payment_method_types: ['card'],
          client_reference_id: purchaseId,
          line_items: [
            {
              quantity: 1,
              price_data: { currency: 'usd', unit_amount: Number(cents), product_data: { name } },
            },
          ],
          metadata,
          payment_intent_data: { metadata },
          expires_at: Math.ceil((clock.nowMs() + OPEN_MS) / 1_000),
          success_url: `${back}?bought=${purchaseId}`,
          cancel_url: back,
        },
        { idempotencyKey: purchaseId },
      ),
    )
    if (checkout.url === null) throw new PaymentUnavailable('Stripe made a session without a page')
    return {
      source: `${NAME}:${checkout.id}`,
      url: checkout.url,
      expiresAtMs: checkout.expires_at * 1_000,
    }
  }

  async openPage({ source }: Pick<PurchaseRow, 'source'>): Promise<string | null> {
    const { status, url } = await this.#retrieve(source)
    return status === 'open' ? url : null
  }

  async look({ id, source }: Pick<PurchaseRow, 'id' | 'source'>): Promise<CardFact> {
    const checkout = await this.#retrieve(source)
    if (checkout.status !== 'complete') {
      return { kind: checkout.status === 'expired' ? 'expired' : 'open' }
    }
    // Money that is on its way is not credited until it arrives.
    if (checkout.payment_status === 'unpaid') return { kind: 'open' }
    const charge = chargeOf(checkout)
    const { dispute, units: disputedUnits } = charge?.disputed
      ? await this.#disputed(charge)
      : { dispute: null, units: 0n }
    const refundedUnits = BigInt(charge?.amount_refunded ?? 0)
    const paymentRef = idOf(checkout.payment_intent)
    return {
      kind: 'paid',
      paid: {
        // The currency of the charge, whose units these are: it can differ from that of the price.
        currency: charge?.currency ?? checkout.currency ?? '',
        units: BigInt(charge?.amount_captured ?? 0),
      },
      taxUnits: BigInt(checkout.total_details?.amount_tax ?? 0),
      reversedUnits: refundedUnits + disputedUnits,
      paymentRef,
      dispute,
      netUnits: netUnitsOf(checkout, charge),
      doubt: doubtOf({ checkout, charge, purchaseId: id, isLive: this.#isLive }),
    }
  }

  #retrieve(source: string): Promise<Stripe.Checkout.Session> {
    return this.#ask((stripe) =>
      stripe.checkout.sessions.retrieve(source.slice(NAME.length + 1), {
        expand: ['payment_intent.latest_charge'],
      }),
    )
  }

  /** The state of the disputes, and the units that they take now: won disputes are returned. Inquiries are none. */
  async #disputed(
    charge: Stripe.Charge,
  ): Promise<{ readonly dispute: Dispute | null; readonly units: bigint }> {
    const disputes = await this.#ask((stripe) =>
      stripe.disputes.list({ charge: charge.id, limit: 100 }),
    )
    const known = disputes.data.flatMap(({ status, amount }) => {
      const dispute = disputeOf(status)
      return dispute === null ? [] : [{ dispute, units: BigInt(amount) }]
    })
    const taken = known.filter(({ dispute }) => takesBack(dispute))
    return {
      dispute: DISPUTES.find((state) => known.some(({ dispute }) => dispute === state)) ?? null,
      units: taken.reduce((sum, { units }) => sum + units, 0n),
    }
  }

  async *changedSince(position: number | null): AsyncIterable<CardChange> {
    const storeId = await this.#input.storeId()
    const stripe = await this.load()
    const params = {
      types: [...EVENT_TYPES],
      limit: 100,
      ...(position === null ? {} : { created: { gte: position } }),
    }
    try {
      for await (const event of stripe.events.list(params)) {
        const of = subjectOf(event, storeId)
        if (of !== null) yield { id: event.id, position: event.created, of }
      }
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  /** Every session that this store began since then, for comparison. */
  async *paymentsSince(createdAtMs: number): AsyncIterable<CardPayment> {
    const storeId = await this.#input.storeId()
    const stripe = await this.load()
    const created = { gte: Math.floor(createdAtMs / 1_000) }
    try {
      for await (const checkout of stripe.checkout.sessions.list({ created, limit: 100 })) {
        const payment = paymentOf(checkout, storeId)
        if (payment !== null) yield payment
      }
    } catch (cause) {
      throw unavailable(cause)
    }
  }

  get #isLive(): boolean {
    return this.#input.secretKey.includes('_live_')
  }

  async #ask<Answer>(call: (stripe: Stripe) => Promise<Answer>): Promise<Answer> {
    const stripe = await this.load()
    try {
      return await call(stripe)
    } catch (cause) {
      throw unavailable(cause)
    }
  }
}

async function loadStripe({ secretKey, baseUrl }: StripeSettings): Promise<Stripe> {
  const { default: Loaded } = await import('stripe').catch((cause) => {
    throw cause?.code === 'ERR_MODULE_NOT_FOUND' ? new StripeMissing() : cause
  })
  const url = baseUrl === null ? null : new URL(baseUrl)
  return new Loaded(secretKey, {
    timeout: CALL_TIMEOUT_MS,
    maxNetworkRetries: 1,
    telemetry: false,
    ...(url && {
      host: url.hostname,
      port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
      protocol: url.protocol === 'https:' ? 'https' : 'http',
    }),
  })
}

const UNKNOWN_PAYMENT =
  'Stripe does not have this payment: the key of the gateway may be of another Stripe account. Ask the operator.'

/** Stripe's message stays in the cause, only for the log. */
function unavailable(cause: unknown): PaymentUnavailable {
  const { type = 'error', code = '', statusCode } = Object(cause)
  const isUnknown = statusCode === 404
  const reason = isUnknown ? 'Stripe does not have this payment' : 'the call to Stripe failed'
  const lasting = isUnknown ? UNKNOWN_PAYMENT : null
  return new PaymentUnavailable(`${reason}: ${type} ${code}`.trim(), { cause, lasting })
}

function chargeOf({ payment_intent: intent }: Stripe.Checkout.Session): Stripe.Charge | null {
  if (intent === null || typeof intent === 'string') return null
  const { latest_charge: charge } = intent
  return charge === null || typeof charge === 'string' ? null : charge
}

/** The state of a dispute by Stripe's word for it; null: an inquiry. An unknown word counts as open, since the money is gone. */
function disputeOf(stripeState: string): Dispute | null {
  if (stripeState.startsWith('warning_')) return null
  if (stripeState === 'lost') return 'lost'
  return stripeState === 'won' || stripeState === 'prevented' ? 'won' : 'open'
}

function idOf(named: string | { readonly id: string } | null | undefined): string | null {
  return typeof named === 'string' ? named : (named?.id ?? null)
}

/**
 * The part of a payment that is for the credit: without taxes and discounts, and in proportion to the captured amount.
 */
function netUnitsOf(checkout: Stripe.Checkout.Session, charge: Stripe.Charge | null): bigint {
  const total = BigInt(checkout.amount_total ?? 0)
  const subtotal = BigInt(checkout.amount_subtotal ?? 0)
  const discount = BigInt(checkout.total_details?.amount_discount ?? 0)
  const captured = BigInt(charge?.amount_captured ?? 0)
  const net = subtotal - discount < total ? subtotal - discount : total
  if (total <= 0n || net <= 0n) return 0n
  return captured >= total ? net : (net * captured) / total
}

/** Why a payment that is complete is not the one that was asked for; null: it looks like it. */
function doubtOf({
  checkout,
  charge,
  purchaseId,
  isLive,
}: {
  readonly checkout: Stripe.Checkout.Session
  readonly charge: Stripe.Charge | null
  readonly purchaseId: string
  readonly isLive: boolean
}): string | null {
  if (checkout.payment_status !== 'paid') return 'the session needed no payment'
  if (checkout.client_reference_id !== purchaseId) return 'the session is of another purchase'
  if (checkout.livemode !== isLive) return 'test mode and live mode are mixed'
  if ((checkout.total_details?.amount_discount ?? 0) !== 0) return 'a discount was given'
  if ((checkout.amount_total ?? 0) < (checkout.amount_subtotal ?? 0)) {
    return 'less was asked for than the price'
  }
  if (charge === null || !charge.paid) return 'the session has no charge that was paid'
  if (charge.currency !== checkout.currency) return `the charge is in ${charge.currency}`
  if (!charge.captured || charge.amount_captured !== checkout.amount_total) {
    return 'the charge was not captured whole'
  }
  return null
}

/** The subject of an event that requires a look: a session of this store, or any payment. */
function subjectOf(event: Stripe.Event, storeId: string): CardChange['of'] | null {
  const { object } = event.data
  switch (object.object) {
    case 'checkout.session':
      return paymentOf(object, storeId)
    case 'charge':
    case 'refund':
    case 'dispute': {
      const paymentRef = idOf(object.payment_intent)
      return paymentRef === null ? null : { paymentRef }
    }
    default:
      return null
  }
}

/** A session that this store began; null: of another store, or of none. */
function paymentOf(
  { id, metadata, client_reference_id: purchaseId }: Stripe.Checkout.Session,
  storeId: string,
): CardPayment | null {
  if (metadata?.['tollgate_store'] !== storeId || purchaseId === null) return null
  const { tollgate_account: accountId, tollgate_credit_micros: creditText } = metadata
  const { tollgate_price_cents: cents } = metadata
  if (accountId === undefined || !isWhole(creditText) || !isWhole(cents)) return null
  const creditMicros: Micros = micros(Number(creditText))
  return { source: `${NAME}:${id}`, purchaseId, accountId, creditMicros, cents: BigInt(cents) }
}

function isWhole(text: string | undefined): text is string {
  return text !== undefined && /^\d{1,15}$/.test(text)
}

const SIGNATURE_AGE_MAX_MS = 5 * MINUTE_MS

/**
 * Whether a message was signed with the webhook's secret in the last five minutes: `Stripe-Signature` is
 * `t=<seconds>,v1=<HMAC-SHA-256 of "<t>.<body>", hexadecimal>`, with a `v1` for each secret of a roll-over.
 */
export function isSignedByStripe(
  body: Buffer,
  {
    header,
    secret,
    nowMs,
  }: { readonly header: string; readonly secret: string; readonly nowMs: number },
): boolean {
  const parts = header.split(',').map((part) => part.trim().split('='))
  const seconds = parts.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^\d{1,12}$/.test(seconds)) return false
  if (Math.abs(nowMs - Number(seconds) * 1_000) > SIGNATURE_AGE_MAX_MS) return false
  const expected = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest()
  const isExpected = ([name, signature = '']: readonly string[]): boolean =>
    name === 'v1' &&
    /^[0-9a-f]{64}$/.test(signature) &&
    timingSafeEqual(Buffer.from(signature, 'hex'), expected)
  return parts.filter(isExpected).length > 0
}
