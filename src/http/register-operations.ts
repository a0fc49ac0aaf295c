import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseJsonBody } from '../json/body.ts'
import type { Operation } from '../operations/operation.ts'
import type { Arrival } from '../vocabulary/arrival.ts'
import { asksToGoOn } from './expect-continue.ts'
import { readBody } from './read-body.ts'

interface RegisterOperationsInput {
  readonly operations: readonly Operation[]
  readonly bodyTimeoutMs: number
}

/** A client that takes no byte of an answer for so long is gone. */
export const ANSWER_STALL_TIMEOUT_MS = 60_000

/** What an operation's body may have: an object of a few fields. */
const BODY_BYTES_MAX = 64 * 1024

/** Puts operations on a server. Bodies are read whatever their content-type says. */
export function registerOperations(
  app: FastifyInstance,
  { operations, bodyTimeoutMs }: RegisterOperationsInput,
): void {
  for (const { method, path, body, run } of operations) {
    app.route<{ Params: Record<string, string> }>({
      method,
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      async handler(request, reply) {
        const sent = body === null ? undefined : await readJson({ request, reply, bodyTimeoutMs })
        // What is asked for may take long to make, such as an audit; only its reading may not.
        reply.raw.setTimeout(0)
        const { params, query } = request
        const answered = await run({ ...arrivalOf(request), params, query, body: sent })
        reply.raw.setTimeout(ANSWER_STALL_TIMEOUT_MS)
        return reply
          .code(answered.httpStatus)
          .header('x-request-id', request.id)
          .send(answered.body)
      },
    })
  }
}

/** What is known of a request of Fastify's before it is read. */
export function arrivalOf({ headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>): Arrival {
  return { headers, peerAddress: raw.socket.remoteAddress }
}

interface SmallBodyInput {
  readonly request: Pick<FastifyRequest, 'raw'>
  readonly reply: Pick<FastifyReply, 'raw'>
  readonly bodyTimeoutMs: number
}

async function readJson({ request, reply, bodyTimeoutMs }: SmallBodyInput): Promise<unknown> {
  const bytes = await readBody(request.raw, {
    bytesMax: BODY_BYTES_MAX,
    timeoutMs: bodyTimeoutMs,
    beforeReading: () => {
      if (asksToGoOn(request.raw)) reply.raw.writeContinue()
    },
  })
  return parseJsonBody(bytes).root
}
