import Fastify, { type FastifyInstance } from 'fastify'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { EnvelopeFamily, WireFormat } from '../formats/format.ts'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import type { OperationSection } from '../operations/operations.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Problem } from '../vocabulary/problem.ts'
import type { Access } from './access.ts'
import { answerProblem, problemOf, unknownRoute } from './answer-problem.ts'
import { ClientRequest } from './client-request.ts'
import { Connections } from './connections.ts'
import { type PublicRoutesInput, registerPublicRoutes } from './public-routes.ts'
import { createHealth, type Health, type HealthInput } from './health.ts'
import type { Inference } from './inference.ts'
import { type MetricsPage, registerMetricsRoute } from './metrics-routes.ts'
import { type OpenApiInput, registerOpenApiRoutes } from './openapi/openapi-routes.ts'
import { ANSWER_STALL_TIMEOUT_MS, registerOperations } from './operation-routes.ts'

interface HttpServerInput {
  /** Every format that is served. */
  readonly formats: readonly WireFormat[]
  readonly ids: IdSource
  readonly inference: Inference
  /** What is taken of the thread by bodies in tiny pieces. */
  readonly threadShare: ThreadShare
  readonly catalog: PublicRoutesInput['catalog']
  readonly root: Pick<PublicRoutesInput, 'version' | 'mode'>
  /** What `GET /readyz` goes by. Default: nothing, so that it is ready as soon as it listens. */
  readonly readiness?: HealthInput['readiness']
  /** `/metrics` for who has the token; null or absent: nothing is there. */
  readonly metrics?: { readonly page: MetricsPage; readonly metricsToken: string } | null
  /** Default: only inference and models are served. */
  readonly management?: ManagementInput
  /** Told of failures that are no client's fault. */
  readonly onFailure: (requestId: string, problem: Problem) => void
}

/** The operations over HTTP, and the documents. */
export interface ManagementInput {
  /** Documents show all of them, also those that no `access` reaches. */
  readonly sections: readonly OperationSection[]
  readonly access: readonly Access[]
  readonly bodyTimeoutMs: number
  /** What documents say beside the operations. */
  readonly document: Pick<OpenApiInput, 'version' | 'costHeader'>
}

/** The whole HTTP face: inference on Node's own server, everything else by Fastify on the same one. */
export function createHttpServer(input: HttpServerInput): FastifyInstance {
  const { formats, inference, ids, readiness = () => [] } = input
  const connections = new Connections(input.threadShare)
  const health = createHealth({ ids, readiness })
  const app = Fastify({
    logger: false,
    genReqId: () => ids.next('req'),
    // The answer takes as long as the provider; a body has its own deadline.
    requestTimeout: 0,
    // Only when every inference answer has been given: Node itself waits for connections on which no
    // request was ever sent.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: (error, socket) => connections.refuse(error, socket),
    serverFactory: (serveRest) => nodeServer({ inference, health, connections, serveRest }),
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      answerNotFound({ clientRequest: request.raw, client: reply.raw, requestId: request.id })
    },
  })
  const familyOf = familyFinder(formats)
  const answerNotFound = ({ clientRequest, client, requestId }: Unknown): void =>
    answerProblem({
      clientRequest,
      client,
      requestId,
      problem: unknownRoute(clientRequest),
      family: familyOf(clientRequest.url ?? ''),
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
  registerPublicRoutes(app, { ...input.root, formats, catalog: input.catalog })
  if (input.metrics != null) registerMetricsRoute(app, input.metrics)
  if (input.management !== undefined) registerManagement(app, { ...input.management, formats })
  return app
}

function registerManagement(
  app: FastifyInstance,
  { formats, ...input }: ManagementInput & Pick<HttpServerInput, 'formats'>,
): void {
  const { sections, bodyTimeoutMs } = input
  registerOpenApiRoutes(app, { ...input.document, formats, sections })
  const operations = sections.flatMap((section) => section.operations)
  for (const access of input.access) registerOperations(app, { operations, access, bodyTimeoutMs })
}

interface NodeServerInput {
  readonly inference: Inference
  readonly health: Health
  readonly connections: Connections
  readonly serveRest: (clientRequest: IncomingMessage, client: ServerResponse) => void
}

function nodeServer({ inference, health, connections, serveRest }: NodeServerInput): Server {
  const onRequest = (clientRequest: ClientRequest, client: ServerResponse<ClientRequest>): void =>
    connections.take(clientRequest, client, () => {
      if (inference.serve(clientRequest, client)) return
      client.setTimeout(ANSWER_STALL_TIMEOUT_MS)
      if (health.serve(clientRequest, client)) return
      serveRest(clientRequest, client)
    })
  const server = createServer(
    {
      IncomingMessage: ClientRequest,
      // Longer than any proxy in front keeps an idle connection, so that it is the proxy that closes it.
      keepAliveTimeout: 75_000,
      headersTimeout: 60_000,
      requestTimeout: 0,
    },
    onRequest,
  )
  // Who asks before uploading is told to go on only once the body is to be read, or is refused without.
  server.on('checkContinue', onRequest)
  // Other expectations may be ignored; Node would answer them outside of any envelope.
  server.on('checkExpectation', onRequest)
  return server
}

interface Unknown {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  readonly requestId: string
}

/** The envelope of what is at or below a format's path is the format's; of all else, OpenAI's. */
function familyFinder(formats: readonly WireFormat[]): (url: string) => EnvelopeFamily {
  return (url) => {
    const format = formats.find(
      ({ path }) => url.startsWith(path) && /^([/?]|$)/.test(url.slice(path.length)),
    )
    return format?.family ?? 'openai'
  }
}
