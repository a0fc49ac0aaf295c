import type { FastifyInstance } from 'fastify'
import type { WireFormat } from '../formats/format.ts'
import { keptAnswer, sendKept } from './kept-answer.ts'

/** What `GET /v1` says of the service. */
export interface RootInput {
  readonly version: string
  /** `simulator`: the built-in upstream answers, and all money is play money. */
  readonly mode: 'simulator' | 'live'
  readonly formats: readonly Pick<WireFormat, 'endpoint' | 'path'>[]
}

/** `GET /v1`: what this is, for a person or a script that has only the address. */
export function registerRootRoute(app: FastifyInstance, root: RootInput): void {
  const answer = {
    object: 'service',
    name: 'tollgate',
    version: root.version,
    mode: root.mode,
    formats: root.formats.map(({ endpoint, path }) => ({ name: endpoint, path })),
    links: { models: '/v1/models', openapi: '/openapi.json', docs: '/docs' },
  }
  const kept = keptAnswer(Buffer.from(JSON.stringify(answer)))
  app.get('/v1', (request, reply) => sendKept({ request, reply }, kept))
}
