import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import { listen } from '../../vocabulary/testing/listen.ts'

/** The fields of a session that the gateway reads. */
type Session = Pick<
  Stripe.Checkout.Session,
  | 'id'
  | 'object'
  | 'url'
  | 'status'
  | 'payment_status'
  | 'livemode'
  | 'currency'
  | 'amount_subtotal'
  | 'amount_total'
  | 'client_reference_id'
  | 'expires_at'
  | 'created'
> & {
  metadata: Record<string, string>
  total_details: { amount_discount: number; amount_shipping: number; amount_tax: number }
  payment_intent: string | null
}

type Charge = Pick<
  Stripe.Charge,
  | 'id'
  | 'object'
  | 'amount'
  | 'amount_captured'
  | 'amount_refunded'
  | 'captured'
  | 'currency'
  | 'disputed'
  | 'paid'
> & { payment_intent: string }

type Dispute = Pick<Stripe.Dispute, 'id' | 'object' | 'amount' | 'status'> & {
  charge: string
  payment_intent: string
}

interface Event {
  readonly id: string
  readonly object: 'event'
  readonly type: Stripe.Event.Type
  readonly created: number
  readonly data: { readonly object: object }
}

/** A Stripe that a test plays: an HTTP server that answers as Stripe's API does, with what the test did to payments. */
export class StripeServer {
  readonly secretKey: string
  readonly webhookSecret = 'whsec_of_a_test'
  readonly baseUrl: string
  /** The calls so far: `POST /v1/checkout/sessions`. */
  readonly calls: string[] = []
  /** How calls are answered: normally, with an error, or as if a proxy broke the connection. */
  state: 'up' | 'failing' | 'broken' = 'up'
  nowMs = 1_700_000_000_000
  readonly #server: ReturnType<typeof createServer>
  readonly #sessions = new Map<string, Session>()
  readonly #byIdempotencyKey = new Map<string, Session>()
  readonly #charges = new Map<string, Charge>()
  readonly #disputes = new Map<string, Dispute>()
  readonly #events: Event[] = []
  /** Resolves when an answer may be sent; it is as old as the call. */
  holdAnswer: (call: string) => Promise<void> = async () => {}
  /** Calls of paths that begin with this fail; null: none. */
  failing: string | null = null
  /** The fields of the latest request for a session, by the names of Stripe's form. */
  asked: Readonly<Record<string, string>> = {}
  #made = 0

  readonly #mode: 'live' | 'test'

  private constructor(
    server: ReturnType<typeof createServer>,
    { baseUrl, mode }: { readonly baseUrl: string; readonly mode: 'live' | 'test' },
  ) {
    this.#server = server
    this.#mode = mode
    this.baseUrl = baseUrl
    this.secretKey = `sk_${mode}_of_a_test`
  }

  /** `mode`: that of its key and of its sessions. Default: live. */
  static async start({
    mode = 'live',
  }: {
    readonly mode?: 'live' | 'test'
  } = {}): Promise<StripeServer> {
    const server = createServer()
    const port = await listen(server)
    const served = new StripeServer(server, { baseUrl: `http://127.0.0.1:${port}`, mode })
    server.on('request', (request, response) => void served.#serve(request, response))
    return served
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  get sessions(): readonly Session[] {
    return [...this.#sessions.values()]
  }

  /** Changes a session before it is paid, as nothing of the gateway's does. */
  change(source: string, changes: Partial<Session>): void {
    Object.assign(this.#session(source), changes)
  }

  /** Pays a session by card; `paid` says what the charge has otherwise than usual. */
  pay(source: string, paid: Partial<Charge> = {}): void {
    const session = this.#session(source)
    const intent = this.#id('pi')
    const amount = session.amount_total ?? 0
    session.status = 'complete'
    session.payment_status = 'paid'
    session.payment_intent = intent
    this.#charges.set(intent, {
      id: this.#id('ch'),
      object: 'charge',
      amount,
      amount_captured: amount,
      amount_refunded: 0,
      captured: true,
      currency: session.currency ?? 'usd',
      disputed: false,
      paid: true,
      payment_intent: intent,
      ...paid,
    })
    this.#report('checkout.session.completed', session)
  }

  /** Completes a session that asked for no payment. */
  completeForNothing(source: string): void {
    const session = this.#session(source)
    session.status = 'complete'
    session.payment_status = 'no_payment_required'
    this.#report('checkout.session.completed', session)
  }

  /** Forgets a session, as Stripe forgets those of its test mode. */
  lose(source: string): void {
    this.#sessions.delete(this.#session(source).id)
  }

  expire(source: string): void {
    const session = this.#session(source)
    session.status = 'expired'
    this.#report('checkout.session.expired', session)
  }

  /** Brings the refunds of a payment to a total, in cents. */
  refund(source: string, totalCents: number): void {
    const charge = this.#charge(source)
    charge.amount_refunded = totalCents
    this.#report('charge.refunded', charge)
  }

  /** Opens a dispute of a payment, or brings it to another status. */
  dispute(source: string, status: Stripe.Dispute.Status, cents?: number): void {
    const charge = this.#charge(source)
    const known = this.#disputes.get(charge.id)
    const dispute: Dispute = known ?? {
      id: this.#id('dp'),
      object: 'dispute',
      amount: cents ?? charge.amount_captured,
      status,
      charge: charge.id,
      payment_intent: charge.payment_intent,
    }
    dispute.status = status
    charge.disputed = true
    this.#disputes.set(charge.id, dispute)
    this.#report(known === undefined ? 'charge.dispute.created' : 'charge.dispute.updated', dispute)
  }

  /** Forgets its reports, as Stripe does after 30 days. */
  forgetEvents(): void {
    this.#events.length = 0
  }

  /** Reports something that has nothing to do with the gateway. */
  reportOther(type: Stripe.Event.Type, object: object): void {
    this.#report(type, object)
  }

  /** A message of the webhook, signed by the SDK. */
  message({ secret = this.webhookSecret, atMs = this.nowMs } = {}) {
    const payload = JSON.stringify(this.#events.at(-1) ?? { object: 'event' })
    const timestamp = Math.floor(atMs / 1_000)
    const signed = { payload, secret, timestamp }
    return { payload, header: Stripe.webhooks.generateTestHeaderString(signed) }
  }

  #id(prefix: string): string {
    return `${prefix}_${++this.#made}`
  }

  #report(type: Stripe.Event.Type, object: object): void {
    const id = this.#id('evt')
    const created = Math.floor(this.nowMs / 1_000)
    this.#events.push({ id, object: 'event', type, created, data: { object: { ...object } } })
  }

  #session(source: string): Session {
    const session = this.#sessions.get(source.replace('stripe:', ''))
    if (session === undefined) throw new Error(`no session ${source}`)
    return session
  }

  #charge(source: string): Charge {
    const charge = this.#charges.get(this.#session(source).payment_intent ?? '')
    if (charge === undefined) throw new Error(`${source} is not paid`)
    return charge
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.baseUrl)
    const call = `${request.method} ${pathname}`
    this.calls.push(call)
    const body = new URLSearchParams(await text(request))
    if (this.state === 'broken') {
      request.socket.destroy()
      return
    }
    const isKnown = request.headers.authorization === `Bearer ${this.secretKey}`
    const answer = isKnown ? this.#answer(call, { request, searchParams, body }) : null
    const isUp =
      this.state === 'up' && !(this.failing !== null && pathname.startsWith(this.failing))
    const isOk = isUp && answer !== null
    // The answer is fixed now: what happens before it is sent does not change it.
    const sent = JSON.stringify(isOk ? answer : { error: { type: 'api_error', message: 'no' } })
    await this.holdAnswer(call)
    const httpStatus = isOk ? 200 : isKnown ? 404 : 401
    response.writeHead(isUp ? httpStatus : 503, {
      'content-type': 'application/json',
      'stripe-should-retry': 'false',
    })
    response.end(sent)
  }

  #answer(
    call: string,
    {
      request,
      searchParams,
      body,
    }: {
      readonly request: IncomingMessage
      readonly searchParams: URLSearchParams
      readonly body: URLSearchParams
    },
  ): object | null {
    const since = Number(searchParams.get('created[gte]') ?? 0)
    const isSince = ({ created }: { readonly created: number }): boolean => created >= since
    switch (call) {
      case 'POST /v1/checkout/sessions':
        return this.#begin(body, String(request.headers['idempotency-key']))
      case 'GET /v1/checkout/sessions':
        return this.#page(this.sessions.filter(isSince).toReversed(), searchParams)
      case 'GET /v1/events': {
        const types = [...searchParams].flatMap(([name, value]) =>
          name.startsWith('types') ? [value] : [],
        )
        const events = this.#events.filter((event) => isSince(event) && types.includes(event.type))
        return this.#page(events.toReversed(), searchParams)
      }
      case 'GET /v1/disputes': {
        const disputes = [...this.#disputes.values()]
        const charge = searchParams.get('charge')
        return this.#page(
          disputes.filter((each) => each.charge === charge),
          searchParams,
        )
      }
      default: {
        const session = this.#sessions.get(call.replace('GET /v1/checkout/sessions/', ''))
        return session === undefined ? null : this.#expanded(session)
      }
    }
  }

  #expanded(session: Session): object {
    const { payment_intent: intent } = session
    const charge = intent === null ? undefined : this.#charges.get(intent)
    const expanded = charge && { id: intent, object: 'payment_intent', latest_charge: charge }
    return { ...session, payment_intent: expanded ?? null }
  }

  /** Two of a list, newest first, so that any list of a test has several pages. */
  #page(all: readonly { readonly id: string }[], searchParams: URLSearchParams): object {
    const after = searchParams.get('starting_after')
    const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
    const data = all.slice(start, start + 2)
    return { object: 'list', url: '/v1', data, has_more: start + data.length < all.length }
  }

  #begin(body: URLSearchParams, idempotencyKey: string): Session {
    const known = this.#byIdempotencyKey.get(idempotencyKey)
    if (known !== undefined) return known
    this.asked = Object.fromEntries(body)
    const id = this.#id('cs')
    const cents = Number(body.get('line_items[0][price_data][unit_amount]'))
    const metadata: Record<string, string> = {}
    for (const [name, value] of body) {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1]
      if (key !== undefined) metadata[key] = value
    }
    const session: Session = {
      id,
      object: 'checkout.session',
      url: `${this.baseUrl}/pay/${id}`,
      status: 'open',
      payment_status: 'unpaid',
      livemode: this.#mode === 'live',
      currency: body.get('line_items[0][price_data][currency]'),
      amount_subtotal: cents,
      amount_total: cents,
      client_reference_id: body.get('client_reference_id'),
      expires_at: Number(body.get('expires_at')),
      created: Math.floor(this.nowMs / 1_000),
      metadata,
      total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
      payment_intent: null,
    }
    this.#sessions.set(id, session)
    this.#byIdempotencyKey.set(idempotencyKey, session)
    return session
  }
}
