import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import type { EnvelopeFamily, WireFormat } from '../formats/format.ts'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import type { OperationSection } from '../operations/operations.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { PROBLEMS, Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import type { Access } from './access.ts'
import { answerProblem, problemOf, STORE_AWAY } from './answer-problem.ts'
import { ClientRequest, Connections, endUnlessAsked } from './connections.ts'
import { createHealth, type Health, type HealthInput } from './health.ts'
import type { Inference } from './inference.ts'
import { KnownRoutes, UnknownRoute } from './known-routes.ts'
import { type MetricsPage, registerMetricsRoute } from './metrics-routes.ts'
import { http } from './node-http.ts'
import { type OpenApiInput, registerOpenApiRoutes } from './openapi/openapi-routes.ts'
import {
  ANSWER_STALL_TIMEOUT_MS,
  type OnAccessTaken,
  registerOperations,
} from './operation-routes.ts'
import { type PageInput, registerPage } from './page/page-routes.ts'
import { type PlayPageInput, registerPlayPage } from './play-page.ts'
import { type PublicRoutesInput, registerPublicRoutes } from './public-routes.ts'
import { registerWebhook, type WebhookInput } from './sale-webhook.ts'

interface HttpServerInput {
  /** Every format that is served. */
  readonly formats: readonly WireFormat[]
  /** Formats are recognized by the headers of these names. */
  readonly publicNames: PublicNames
  readonly ids: IdSource
  readonly inference: Inference
  /** Divides the thread among bodies in tiny pieces. */
  readonly threadShare: ThreadShare
  readonly catalog: PublicRoutesInput['catalog']
  readonly callerOf: PublicRoutesInput['callerOf']
  readonly root: Pick<PublicRoutesInput, 'version' | 'mode'>
  /** The checks of `GET /readyz`. Default: none, so that it is ready as soon as it listens. */
  readonly readiness?: HealthInput['readiness']
  /** `/metrics`, with its token; null or absent: no such route. */
  readonly metrics?: { readonly page: MetricsPage; readonly metricsToken: string } | null
  /** Default: only inference and models are served. */
  readonly management?: ManagementInput
  /** Called with failures of the server itself. */
  readonly onFailure: (failure: OperationFailure) => void
}

/** A call other than inference that the gateway could not serve. */
export interface OperationFailure {
  readonly requestId: string
  readonly method: string
  /** The path with the names of its parameters: `/v1/accounts/:account_id`. Null: no route was found. */
  readonly route: string | null
  readonly problem: Problem
}

/** The operations over HTTP, and the documents. */
export interface ManagementInput {
  /** Documents show all of them, also those that no `access` reaches. */
  readonly sections: readonly OperationSection[]
  readonly access: readonly Access[]
  /** Called before the answer to a call that may have taken access from people. Default: not called. */
  readonly onAccessTaken?: OnAccessTaken
  readonly bodyTimeoutMs: number
  /** The facts in the documents other than the operations. */
  readonly document: Pick<OpenApiInput, 'version' | 'costHeader' | 'fontsFolder'>
  /** The page at `/app`; null: it is off. */
  readonly page: Omit<PageInput, 'bodyTimeoutMs'> | null
  /** The pages on which play money is paid; null: there are none. */
  readonly playPage: PlayPageInput | null
  /** Messages about payments; null: none are taken. */
  readonly webhook: WebhookInput | null
}

// Operations check their own input. Without these Fastify loads its compilers of schemas, which take memory for ever.
const NO_SCHEMAS = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas }

function refuseSchemas(): never {
  throw new Error('no route has a schema of Fastify')
}

// Longer than any path that Node reads, so that an ID of any length is looked up and not found.
const PATH_PART_CHARS_MAX = 64 * 1024

/** Makes the HTTP server: inference on Node's own server, everything else by Fastify on the same one. */
export function createHttpServer(input: HttpServerInput): FastifyInstance {
  const { formats, inference, ids, readiness = () => [] } = input
  const familyOf = familyFinder(formats, input.publicNames)
  const connections = new Connections({ threadShare: input.threadShare, ids, familyOf })
  const health = createHealth({ ids, readiness })
  const refuseHead: NodeServerInput['refuseHead'] = (clientRequest, { client, message }) => {
    // Where its body ends is not certain.
    client.setHeader('connection', 'close')
    answerProblem({
      clientRequest,
      client,
      requestId: ids.next('req'),
      problem: new Problem('bad_request', { message }),
      family: familyOf(clientRequest.url ?? ''),
    })
  }
  const app = Fastify({
    logger: false,
    genReqId: () => ids.next('req'),
    // A response takes as long as the provider takes; a body has its own deadline.
    requestTimeout: 0,
    // This happens after every inference response has ended: Node itself would wait for connections on which
    // no request was ever sent.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PATH_PART_CHARS_MAX },
    schemaController: { compilersFactory: NO_SCHEMAS },
    clientErrorHandler: (error, socket) => connections.refuse(error, socket),
    serverFactory: (serveRest) =>
      nodeServer({ inference, health, connections, refuseHead, serveRest }),
    frameworkErrors: ({ code }, { raw, id }, reply) => {
      reply.hijack()
      if (code === 'FST_ERR_BAD_URL' && routes.has(raw)) {
        raw.url = urlAsWritten(raw.url ?? '')
        app.routing(raw, reply.raw)
        return
      }
      answerNotFound({ clientRequest: raw, client: reply.raw, requestId: id })
    },
  })
  const routes = knownRoutesOf(app, formats)
  const answerNotFound = ({ clientRequest, client, requestId }: UnroutedRequest): void =>
    answerProblem({
      clientRequest,
      client,
      requestId,
      problem: routes.refusal(clientRequest, client),
      family: familyOf(clientRequest.url ?? '', clientRequest.headers),
    })
  app.setErrorHandler((error, request, reply) => {
    reply.hijack()
    if (error instanceof UnknownRoute) {
      answerNotFound({ clientRequest: request.raw, client: reply.raw, requestId: request.id })
      return
    }
    const problem = problemOf(error, STORE_AWAY)
    if (PROBLEMS[problem.code].owner === 'platform') {
      const { id: requestId, method, routeOptions } = request
      input.onFailure({ requestId, method, route: routeOptions.url ?? null, problem })
    }
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
  const { catalog, callerOf } = input
  registerPublicRoutes(app, { ...input.root, formats, catalog, callerOf })
  if (input.metrics != null) registerMetricsRoute(app, input.metrics)
  if (input.management !== undefined) {
    registerManagement(app, { ...input.management, formats, inference })
  }
  return app
}

/** A URL whose path has no valid percent-encoding, made to mean its own characters: no ID has them. */
function urlAsWritten(url: string): string {
  return url.replace(/^[^?]*/, (path) => path.replaceAll('%', '%25'))
}

/** The routes of Fastify, now and later, with those that Node's own server answers. */
function knownRoutesOf(app: FastifyInstance, formats: readonly WireFormat[]): KnownRoutes {
  const routes = new KnownRoutes()
  routes.follow(app)
  for (const { path } of formats) routes.add({ method: 'POST', url: path })
  for (const path of ['/healthz', '/readyz']) {
    for (const method of ['GET', 'HEAD']) routes.add({ method, url: path })
  }
  return routes
}

function registerManagement(
  app: FastifyInstance,
  {
    formats,
    inference,
    ...input
  }: ManagementInput & Pick<HttpServerInput, 'formats' | 'inference'>,
): void {
  const { sections, bodyTimeoutMs, page, onAccessTaken } = input
  registerOpenApiRoutes(app, { ...input.document, formats, sections, hasPage: page !== null })
  const operations = sections.flatMap((section) => section.operations)
  for (const access of input.access) {
    registerOperations(app, { operations, access, bodyTimeoutMs, onAccessTaken })
  }
  if (input.playPage !== null) registerPlayPage(app, input.playPage)
  if (input.webhook !== null) registerWebhook(app, input.webhook)
  if (page === null) return
  registerPage(app, { ...page, operations, formats, inference, bodyTimeoutMs, onAccessTaken })
}

interface NodeServerInput {
  readonly inference: Inference
  readonly health: Health
  readonly connections: Connections
  /** Answers a head with a fault, and ends its connection. */
  readonly refuseHead: (
    clientRequest: ClientRequest,
    refused: { readonly client: ServerResponse; readonly message: string },
  ) => void
  readonly serveRest: (clientRequest: IncomingMessage, client: ServerResponse) => void
}

function nodeServer(input: NodeServerInput): Server {
  const { inference, health, connections, refuseHead, serveRest } = input
  const onRequest = (clientRequest: ClientRequest, client: ServerResponse<ClientRequest>): void =>
    connections.take(clientRequest, client, () => {
      clientRequest.takePathOfUrl()
      const message = clientRequest.headFault
      if (message !== null) return refuseHead(clientRequest, { client, message })
      if (inference.serve(clientRequest, client)) return
      client.setTimeout(ANSWER_STALL_TIMEOUT_MS)
      if (health.serve(clientRequest, client)) return
      serveRest(clientRequest, client)
    })
  const server = http.createServer(
    {
      IncomingMessage: ClientRequest,
      // Longer than proxies keep an idle connection, so that the proxy closes it and not this server.
      keepAliveTimeout: 75_000,
      headersTimeout: 60_000,
      requestTimeout: 0,
      // Node would refuse these requests without an error envelope.
      requireHostHeader: false,
    },
    onRequest,
  )
  // `100 Continue` is sent once the body is about to be read; a refusal is sent without it.
  server.on(
    'checkContinue',
    (clientRequest: ClientRequest, client: ServerResponse<ClientRequest>) => {
      endUnlessAsked(client)
      onRequest(clientRequest, client)
    },
  )
  // Other expectations are ignored: Node would answer them without an error envelope.
  server.on('checkExpectation', onRequest)
  return server
}

/** A request whose path or method no route has. */
interface UnroutedRequest {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  readonly requestId: string
}

/**
 * Finds the error envelope of a URL. At or below the path of a format, even with `/v1` missing or doubled, it is that
 * format's envelope. Elsewhere the request's headers decide if they belong to a format, else it is OpenAI's. By position:
 * the formats, and the names of their headers.
 */
function familyFinder(
  formats: readonly WireFormat[],
  publicNames: PublicNames,
): (url: string, headers?: IncomingHttpHeaders) => EnvelopeFamily {
  const byHeader = (headers: IncomingHttpHeaders): WireFormat | undefined =>
    formats.find((format) => format.forwardedHeaders(publicNames).some((name) => name in headers))
  return (url, headers = {}) => {
    const target = url.replace(/^(?:\/v1)*\//, '/v1/')
    const format = formats.find(
      ({ path }) => target.startsWith(path) && /^([/?]|$)/.test(target.slice(path.length)),
    )
    return (format ?? byHeader(headers))?.family ?? 'openai'
  }
}
