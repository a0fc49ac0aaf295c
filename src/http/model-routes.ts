import type { FastifyInstance } from 'fastify'
import { Problem } from '../vocabulary/problem.ts'
import { answerProblem } from './answer-problem.ts'

/** What the model routes read of the catalog. */
export interface ModelRoutesInput {
  /** The list of all models as JSON bytes. */
  readonly listBytes: () => Buffer
  /** One model by any name that resolves; null where none does. */
  readonly get: (modelName: string) => object | null
}

/** `GET /v1/models` and `GET /v1/models/{id}`: no key needed. */
export function registerModelRoutes(app: FastifyInstance, catalog: ModelRoutesInput): void {
  app.get('/v1/models', (request, reply) => {
    reply.header('x-request-id', request.id).type('application/json').send(catalog.listBytes())
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const listing = catalog.get(request.params['*'])
    if (listing !== null) {
      reply.header('x-request-id', request.id).send(listing)
      return
    }
    reply.hijack()
    answerProblem({
      clientRequest: request.raw,
      client: reply.raw,
      problem: new Problem('model_not_found'),
      family: 'openai',
      requestId: null,
    })
  })
}
