import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../vocabulary/problem.ts'
import { bearerCheck } from './access.ts'
import type { Health } from './health.ts'
import { pathOf } from './known-routes.ts'
import { http } from './node-http.ts'

/** The page at `/metrics`. */
export interface MetricsPage {
  readonly render: () => Promise<string>
  readonly contentType: string
}

/** Adds `/metrics` to the clients' port. Readers send the token. */
export function registerMetricsRoute(
  app: FastifyInstance,
  { page, metricsToken }: { readonly page: MetricsPage; readonly metricsToken: string },
): void {
  const isAllowed = bearerCheck(metricsToken)
  app.get('/metrics', async (request, reply) => {
    const { authorization } = request.headers
    if (!isAllowed(authorization)) {
      const wrong =
        authorization === undefined
          ? {}
          : { message: 'The metrics token is wrong: send METRICS_TOKEN.' }
      throw new Problem('invalid_metrics_token', wrong)
    }
    const text = await page.render()
    await reply.header('x-request-id', request.id).type(page.contentType).send(text)
  })
}

/** Listens. Rejects if the port is taken. */
export async function openMetricsServer(input: {
  readonly page: MetricsPage
  /** The probes of this process, which need no token: processes that share a port answer there for one another. */
  readonly health: Health
  /** The token that readers send; null: none. */
  readonly metricsToken: string | null
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Called when the system gives it no connection. Without a listener, that would end the process. */
  readonly onFailure: (cause: unknown) => void
}) {
  const { page, health, metricsToken, host, port, onFailure } = input
  const isAllowed = metricsToken === null ? () => true : bearerCheck(metricsToken)
  const server = http.createServer({ requestTimeout: 10_000 }, (asked, reply) => {
    // Without a listener a connection error of this one reader would end the process.
    reply.on('error', () => {})
    if (health.serve(asked, reply)) return
    if (!isMetrics(asked)) answer(reply, 404, 'Metrics are at /metrics.\n')
    else if (!isAllowed(asked.headers.authorization)) answer(reply, 401, 'Send METRICS_TOKEN.\n')
    else {
      page.render().then(
        (text) => {
          reply.setHeader('content-type', page.contentType)
          answer(reply, 200, text)
        },
        () => answer(reply, 500, 'The metrics could not be read.\n'),
      )
    }
  })
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host, port }, resolve)
  await listening
  server.off('error', reject).on('error', onFailure)
  return {
    address: `http://${placeOf(server.address(), host)}/metrics`,
    async close(): Promise<void> {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      server.closeAllConnections()
      await closed.promise
    },
  }
}

function isMetrics({ method, url }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && pathOf(url ?? '') === '/metrics'
}

function answer(reply: ServerResponse, httpStatus: number, text: string): void {
  const body = Buffer.from(text, 'utf8')
  reply.writeHead(httpStatus, { 'content-length': body.length, 'cache-control': 'no-store' })
  reply.end(body)
}

/** By position: the bound address, and the host that was asked for. */
function placeOf(bound: AddressInfo | string | null, host: string): string {
  if (bound === null || typeof bound === 'string') return host
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return `${shown}:${bound.port}`
}
