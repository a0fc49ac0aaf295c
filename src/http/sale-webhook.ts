import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../vocabulary/problem.ts'
import { askForBody } from './connections.ts'
import { readBody } from './read-body.ts'

/** A route for the messages of a payment's provider. */
export interface WebhookInput {
  readonly path: `/v1/${string}`
  readonly bodyTimeoutMs: number
  /** Whether a message is the provider's, by its bytes as they came. */
  readonly isGenuine: (body: Buffer, headers: IncomingHttpHeaders) => boolean
  /** Called with no part of the message: it is no reason to believe anything, only to look. */
  readonly onMessage: () => void
}

const BODY_BYTES_MAX = 256 * 1024

/** Takes messages of a payment's provider. A message that is not genuine, or too large, is answered 400. */
export function registerWebhook(app: FastifyInstance, input: WebhookInput): void {
  app.post(input.path, async ({ raw, id }, reply) => {
    const body = await readBody(raw, {
      bytesMax: BODY_BYTES_MAX,
      timeoutMs: input.bodyTimeoutMs,
      beforeReading: () => askForBody(raw, reply.raw),
    }).catch((cause: unknown) => {
      const isTooLarge = cause instanceof Problem && cause.code === 'request_too_large'
      throw isTooLarge ? refused('The message is over 256 KB.') : cause
    })
    if (!input.isGenuine(body, raw.headers)) {
      throw refused('The signature of the message is missing, wrong, or over five minutes old.')
    }
    input.onMessage()
    return reply.header('x-request-id', id).send({ received: true })
  })
}

function refused(message: string): Problem {
  return new Problem('bad_request', { message })
}
