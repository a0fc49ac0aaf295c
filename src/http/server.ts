import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { errorEnvelope } from '../wire/envelope.ts'
import type { EnvelopeFamily } from '../wire/format.ts'
import { answerProblem, problemOf } from './answer-problem.ts'
import type { Inference } from './inference.ts'
import { type ModelRoutesInput, registerModelRoutes } from './model-routes.ts'
import { type RootInput, registerRootRoute } from './root-route.ts'

export interface HttpServerInput {
  readonly ids: IdSource
  readonly inference: Inference
  readonly catalog: ModelRoutesInput
  readonly root: RootInput
  /** Told of failures that are no client's fault. */
  readonly onFailure: (requestId: string, problem: Problem) => void
}

/** The whole HTTP face: inference on Node's own server, everything else by Fastify on the same one. */
export function createHttpServer(input: HttpServerInput): FastifyInstance {
  const app = Fastify({
    logger: false,
    genReqId: () => input.ids.next('req'),
    // The answer takes as long as the provider; a body has its own deadline.
    requestTimeout: 0,
    // Only when every inference answer has been given: Node itself waits for connections on which no
    // request was ever sent.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: answerUnparsable,
    serverFactory: (serveRest) => nodeServer(input.inference, serveRest),
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      answerNotFound({ clientRequest: request.raw, client: reply.raw, requestId: request.id })
    },
  })
  // No route here reads a body that is not JSON, and none refuses one for its content-type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error)
    if (problem.code === 'internal_error') input.onFailure(request.id, problem)
    reply.hijack()
    answerProblem({
      clientRequest: request.raw,
      client: reply.raw,
      problem,
      family: familyOf(request.url),
      requestId: request.id,
    })
  })
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    answerNotFound({ clientRequest: request.raw, client: reply.raw, requestId: request.id })
  })
  registerRootRoute(app, input.root)
  registerModelRoutes(app, input.catalog)
  return app
}

function nodeServer(
  inference: Inference,
  serveRest: (clientRequest: IncomingMessage, client: ServerResponse) => void,
): Server {
  return createServer(
    {
      // Longer than any proxy in front keeps an idle connection, so that it is the proxy that closes it.
      keepAliveTimeout: 75_000,
      headersTimeout: 60_000,
      requestTimeout: 0,
    },
    (clientRequest, client) => {
      if (!inference.serve(clientRequest, client)) serveRest(clientRequest, client)
    },
  )
}

interface Unknown {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  readonly requestId: string
}

function answerNotFound(unknown: Unknown): void {
  answerProblem({
    ...unknown,
    problem: new Problem('not_found'),
    family: familyOf(unknown.clientRequest.url ?? ''),
  })
}

/** The envelope of whatever is below the messages endpoint is its own; of all else, OpenAI's. */
function familyOf(url: string): EnvelopeFamily {
  return /^\/v1\/messages(\/|\?|$)/.test(url) ? 'messages' : 'openai'
}

const answered = new WeakSet<Socket>()

const DRAIN_TIMEOUT_MS = 2_000

/**
 * Answers what Node's own parser refuses. The rest of the refused bytes raise this again and are
 * dropped, for a while, so that the client sees the status and not a reset.
 */
function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (answered.has(socket)) return
  answered.add(socket)
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const problem = new Problem(problemCodeOf(error))
  const body = errorEnvelope('openai', { problem, requestId: null })
  socket.write(
    `HTTP/1.1 ${problem.httpStatus} Refused\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  const timer = setTimeout(() => socket.destroy(), DRAIN_TIMEOUT_MS)
  socket.once('end', () => socket.destroy())
  socket.once('close', () => clearTimeout(timer))
}

function problemCodeOf(
  error: NodeJS.ErrnoException,
): 'headers_too_large' | 'request_timeout' | 'bad_request' {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    default:
      return 'bad_request'
  }
}
