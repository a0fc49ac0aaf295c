import { createHmac } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { request } from 'node:https'
import { Passes } from '../store/passes.ts'
import type { DbWithClock } from '../store/store.ts'
import type { WebhookDeliveryRow, WebhookRow } from '../store/webhook-tables.ts'
import {
  type AttemptEnd,
  type DeliveryOutcome,
  endWaitsOfWrongClock,
  giveBack,
  pruneDeliveries,
  recordAttempt,
  takeMessage,
} from './deliveries.ts'
import { getWebhook, listWebhooks } from './registry.ts'
import type { AddressRules, PinnedAddress, Resolve } from './target.ts'

const INTERVAL_MS = 2_000

const TIDY_INTERVAL_MS = 60_000

/** Attempts of this process at one webhook at the same time. */
const LANES = 4

/** The deadline of an attempt. */
const TIMEOUT_MS = 5_000

interface DelivererInput extends DbWithClock {
  readonly rules: AddressRules
  readonly resolve: Resolve
  /** A number from 0 to below 1, another each time: how much longer than the least wait a retry waits. */
  readonly random: () => number
  /** Default 5,000. */
  readonly timeoutMs?: number
  readonly onAttempt: (event: WebhookDeliveryRow['event'], outcome: DeliveryOutcome) => void
  readonly onFailure: (cause: unknown) => void
}

/**
 * Sends the messages that wait, until it is stopped. Each webhook has lanes of its own, so that one that hangs slows no
 * other. Several processes share the work: a message is sent by the one that has its lease. A process that dies between the
 * sending and the record leaves a lease that ends, and the message is sent again with the same id.
 */
export class Deliverer {
  readonly #input: DelivererInput
  readonly #passes: Passes
  readonly #lanes = new Map<string, Set<Promise<void>>>()
  readonly #stopping = new AbortController()
  #tidiedAtMs = -Infinity

  constructor(input: DelivererInput) {
    this.#input = input
    const { onFailure } = input
    this.#passes = new Passes({ intervalMs: INTERVAL_MS, pass: () => this.begin(), onFailure })
  }

  start(): void {
    this.#passes.start()
  }

  /** Resolves when no attempt is running: unanswered attempts are aborted, and repeated later. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#passes.stop()
    await this.idle()
  }

  /** Begins to send all that is due; resolves once it has begun. */
  async begin(): Promise<void> {
    const { db, clock } = this.#input
    const webhooks = await listWebhooks(db)
    if (webhooks.length > 0) await this.#tidy()
    for (const [webhookId, lanes] of this.#lanes) {
      if (lanes.size === 0) this.#lanes.delete(webhookId)
    }
    for (const webhook of webhooks) {
      if (webhook.disabled) continue
      const lanes = this.#lanes.get(webhook.id) ?? new Set()
      this.#lanes.set(webhook.id, lanes)
      while (lanes.size < LANES && !this.#stopping.signal.aborted) {
        const message = await takeMessage(db, { webhookId: webhook.id, nowMs: clock.nowMs() })
        if (message === null) break
        const lane = this.#run(webhook, message)
          .catch((cause: unknown) => this.#input.onFailure(cause))
          .finally(() => lanes.delete(lane))
        lanes.add(lane)
      }
    }
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    for (const lanes of this.#lanes.values()) await Promise.all(lanes)
  }

  async #tidy(): Promise<void> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    // The clock may have been set back.
    if (Math.abs(nowMs - this.#tidiedAtMs) < TIDY_INTERVAL_MS) return
    await pruneDeliveries(db, nowMs)
    await endWaitsOfWrongClock(db, nowMs)
    this.#tidiedAtMs = nowMs
  }

  /** Sends a message, then the next due message of the same webhook, with the webhook read again. */
  async #run(first: WebhookRow, taken: WebhookDeliveryRow): Promise<void> {
    const { db, clock } = this.#input
    let webhook: WebhookRow | null = first
    let message: WebhookDeliveryRow | null = taken
    while (message !== null) {
      if (!(await this.#send(webhook, message))) return
      webhook = await getWebhook(db, webhook.id)
      if (webhook === null || webhook.disabled) return
      message = await takeMessage(db, { webhookId: webhook.id, nowMs: clock.nowMs() })
    }
  }

  /** Whether the message was delivered, so that more may be sent at once. */
  async #send(webhook: WebhookRow, message: WebhookDeliveryRow): Promise<boolean> {
    const { db, clock, rules, resolve, random, timeoutMs = TIMEOUT_MS, onAttempt } = this.#input
    const stopped = this.#stopping.signal
    const nowMs = clock.nowMs()
    const end = await sendMessage({ webhook, message, nowMs, timeoutMs, rules, resolve, stopped })
    if (end.kind === 'failed' && stopped.aborted) {
      await giveBack(db, message)
      return false
    }
    const ended = { message, end, nowMs: clock.nowMs(), chance: random() }
    const outcome = await recordAttempt(db, ended)
    onAttempt(message.event, outcome)
    return outcome === 'delivered' && !stopped.aborted
  }
}

/** The inputs of one attempt. */
interface SendInput {
  readonly webhook: Pick<WebhookRow, 'url' | 'secret'>
  readonly message: Pick<WebhookDeliveryRow, 'id' | 'body'>
  readonly nowMs: number
  /** For all of it: the look-up of the name, the connection, and the answer's headers. */
  readonly timeoutMs: number
  readonly rules: AddressRules
  readonly resolve: Resolve
  /** Ends the attempt: the process stops. */
  readonly stopped: AbortSignal
}

/**
 * Posts a message, once, to the address that the name has now. Redirects are not followed, and the body of the answer is
 * not read. Never rejects.
 */
export async function sendMessage(input: SendInput): Promise<AttemptEnd> {
  const { webhook, rules, resolve, timeoutMs, stopped } = input
  const url = new URL(webhook.url)
  const { promise: timedOut, resolve: timeOut } = Promise.withResolvers<AttemptEnd>()
  const ending = new AbortController()
  const timer = setTimeout(() => {
    timeOut({ kind: 'failed', failure: 'did not answer in time' })
    ending.abort()
  }, timeoutMs)
  const stop = (): void => {
    timeOut({ kind: 'failed', failure: 'the gateway was stopped' })
    ending.abort()
  }
  stopped.addEventListener('abort', stop)
  if (stopped.aborted) stop()
  const sent = rules.pin(url.hostname, resolve).then(
    (pinned) =>
      pinned === null
        ? failed('its address is in a private network')
        : post(input, { url, pinned, signal: ending.signal }),
    () => failed('its host name has no address'),
  )
  try {
    return await Promise.race([timedOut, sent])
  } finally {
    clearTimeout(timer)
    stopped.removeEventListener('abort', stop)
  }
}

function post(
  { webhook, message, nowMs }: SendInput,
  {
    url,
    pinned,
    signal,
  }: { readonly url: URL; readonly pinned: PinnedAddress; readonly signal: AbortSignal },
): Promise<AttemptEnd> {
  const body = Buffer.from(message.body)
  return new Promise((resolve) => {
    const sending = request(url, {
      method: 'POST',
      // A connection for each message: none is kept for a name that may get another address.
      agent: false,
      rejectUnauthorized: true,
      lookup: (_hostname, { all }, done) => {
        const found: LookupAddress = pinned
        if (all === true) done(null, [found])
        else done(null, found.address, found.family)
      },
      signal,
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        'user-agent': 'tollgate',
        connection: 'close',
        ...signatureOf({
          secret: webhook.secret,
          messageId: message.id,
          nowMs,
          body: message.body,
        }),
      },
    })
    sending.on('response', (answer) => {
      resolve({ kind: 'answered', httpStatus: answer.statusCode ?? 0 })
      sending.destroy()
    })
    // A receiver that wants another protocol.
    sending.on('upgrade', (answer, socket) => {
      resolve({ kind: 'answered', httpStatus: answer.statusCode ?? 0 })
      socket.destroy()
    })
    sending.on('error', (error) => resolve(failed(wordsOf(error))))
    sending.on('close', () => resolve(failed('closed the connection')))
    sending.end(body)
  })
}

function failed(failure: string): AttemptEnd {
  return { kind: 'failed', failure }
}

/** In the gateway's own words: a receiver's text is not repeated. */
function wordsOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'ECONNREFUSED') return 'refused the connection'
  if (/CERT|TLS|SSL|EPROTO|ISSUER/.test(code))
    return `has a certificate that is not trusted (${code.slice(0, 60)})`
  return 'broke off the connection'
}

/** The headers of Standard Webhooks: who verifies them knows that the message is ours, and how old it is. */
function signatureOf({
  secret,
  messageId,
  nowMs,
  body,
}: {
  readonly secret: string
  readonly messageId: string
  readonly nowMs: number
  readonly body: string
}) {
  const seconds = Math.floor(nowMs / 1_000)
  const hmacKey = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', hmacKey)
    .update(`${messageId}.${seconds}.${body}`)
    .digest('base64')
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  }
}
