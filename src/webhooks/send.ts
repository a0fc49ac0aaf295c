import { createHmac } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { request } from 'node:https'
import type { WebhookDeliveryRow, WebhookRow } from '../store/webhook-tables.ts'
import type { AttemptEnd } from './deliveries.ts'
import type { AddressRules, PinnedAddress, Resolve } from './target.ts'

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
