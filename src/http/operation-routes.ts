import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { clientLeft } from '../journey/client-answer.ts'
import { parseJsonBody } from '../json/body.ts'
import { canBeEmpty } from '../operations/check-input.ts'
import type { Operation } from '../operations/operation.ts'
import type { Arrival } from '../vocabulary/call.ts'
import type { Access } from './access.ts'
import { askForBody } from './connections.ts'
import { pathOf, UnknownRoute } from './known-routes.ts'
import { readBody } from './read-body.ts'

/** A client that reads no byte of an answer for this long is cut off. */
export const ANSWER_STALL_TIMEOUT_MS = 60_000

/** The largest body of an operation: an object of a few fields. */
const BODY_BYTES_MAX = 64 * 1024

/** Resolves once a gateway knows all removals of access so far. Rejects with the answer if the store can't be read. */
export type OnAccessTaken = (() => Promise<void>) | undefined

/**
 * Adds the routes that one kind of caller has. The caller is authenticated before anything else is
 * looked at, and again once its body was read. The content-type of a body is ignored.
 */
export function registerOperations(
  app: FastifyInstance,
  input: {
    readonly operations: readonly Operation[]
    readonly access: Access
    readonly bodyTimeoutMs: number
    readonly onAccessTaken: OnAccessTaken
  },
): void {
  const { operations, access, bodyTimeoutMs, onAccessTaken } = input
  const { guards, onAnswered } = access
  app.register(async (scope) => {
    if (access.kind !== 'anyone') {
      // On the raw response, because a problem is answered there.
      scope.addHook('onRequest', async (_, { raw }) => {
        raw.setHeader('cache-control', 'no-store')
      })
    }
    if (onAnswered !== undefined) {
      scope.addHook('onResponse', async ({ id, method, url }, reply) => {
        const { statusCode: httpStatus } = reply.raw
        onAnswered({ requestId: id, method, path: pathOf(url), httpStatus })
      })
    }
    for (const { method, paths, body, answersTo, takesAccess, run } of operations) {
      const path = paths[access.kind]
      if (path === undefined) continue
      scope.route<{ Params: Record<string, string> }>({
        method,
        // A HEAD would run the operation, and read a download with no client that takes it. Text is text to each caller.
        exposeHeadRoute: !isDownload(answersTo('operator')[200]),
        url: routeOf(path),
        async handler(request, reply) {
          const { params, query } = request
          const arrival = arrivalOf(request)
          let caller = await access.authenticate(arrival, params)
          access.onCaller?.(caller, reply.raw)
          let sent: unknown
          if (body !== null) {
            sent = await readJson(request.raw, reply.raw, { timeoutMs: bodyTimeoutMs, shape: body })
            // A body may take half a minute, in which a session ends, or a key is disabled.
            caller = await access.authenticate(arrival, params)
          }
          // An operation may take long, such as an audit: only the reading of its response is timed.
          reply.raw.setTimeout(0)
          const acceptsCsv = prefersCsv(request.headers.accept)
          const signal = leavingOf(reply.raw)
          const answered = await run({ caller, params, query, body: sent, acceptsCsv, signal })
          if (takesAccess) await onAccessTaken?.()
          reply.raw.setTimeout(ANSWER_STALL_TIMEOUT_MS)
          if (answered.body instanceof Readable) {
            reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment')
          }
          return reply
            .code(answered.httpStatus)
            .header('x-request-id', request.id)
            .send(answered.body)
        },
      })
    }
    if (guards === null) return
    const refuse = async (request: FastifyRequest): Promise<never> => {
      await access.authenticate(arrivalOf(request), {})
      throw new UnknownRoute()
    }
    for (const url of [guards, `${guards}/*`]) scope.all(url, refuse)
  })
}

/** Whether `Accept` names CSV, and before JSON if it names both. */
function prefersCsv(accept = ''): boolean {
  const [first] = /text\/csv|application\/json/i.exec(accept) ?? []
  return first?.toLowerCase() === 'text/csv'
}

/** Whether an operation answers with text that is sent as it is read. */
function isDownload(shape: z.ZodType | undefined): boolean {
  return shape instanceof z.ZodString
}

/** A path whose parameters are in braces, as Fastify takes it. */
export function routeOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

/** Aborts when the client has left, or has its whole answer. */
export function leavingOf(client: ServerResponse): AbortSignal {
  const leaving = new AbortController()
  client.once('close', () => leaving.abort(clientLeft()))
  return leaving.signal
}

/** The facts of a Fastify request before its body is read. */
export function arrivalOf({ headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>): Arrival {
  return { headers, peerAddress: raw.socket.remoteAddress }
}

/** Reads a small JSON body. Throws Problem. */
export async function readJson(
  clientRequest: IncomingMessage,
  client: ServerResponse,
  { timeoutMs, shape }: { readonly timeoutMs: number; readonly shape: z.ZodType },
): Promise<unknown> {
  const bytes = await readBody(clientRequest, {
    bytesMax: BODY_BYTES_MAX,
    timeoutMs,
    beforeReading: () => askForBody(clientRequest, client),
  })
  if (bytes.length === 0 && canBeEmpty(clientRequest.method ?? '', shape)) return {}
  return parseJsonBody(bytes).root
}
