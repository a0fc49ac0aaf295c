import type { FastifyInstance } from 'fastify'
import { modelNotFound } from '../catalog/catalog.ts'
import { answerProblem } from './answer-problem.ts'
import { type KeptAnswer, keptAnswer, sendKept } from './kept-answer.ts'

/** What the model routes read of the catalog: the same buffers until its next refresh. */
export interface ModelRoutesInput {
  /** The list of all models as JSON bytes. */
  readonly listBytes: () => Buffer
  /** One model as JSON bytes, by any name that resolves; null where none does. */
  readonly modelBytes: (modelName: string) => Buffer | null
}

/** `GET /v1/models` and `GET /v1/models/{id}`: no key needed. */
export function registerModelRoutes(app: FastifyInstance, catalog: ModelRoutesInput): void {
  // A refresh brings other buffers, and those before it are forgotten with their tags.
  const keptByBytes = new WeakMap<Buffer, KeptAnswer>()
  const keptOf = (bytes: Buffer): KeptAnswer => {
    const earlier = keptByBytes.get(bytes)
    if (earlier !== undefined) return earlier
    const kept = keptAnswer(bytes)
    keptByBytes.set(bytes, kept)
    return kept
  }
  app.get('/v1/models', (request, reply) => {
    sendKept({ request, reply }, keptOf(catalog.listBytes()))
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const bytes = catalog.modelBytes(request.params['*'])
    if (bytes !== null) {
      sendKept({ request, reply }, keptOf(bytes))
      return
    }
    reply.hijack()
    answerProblem({
      clientRequest: request.raw,
      client: reply.raw,
      problem: modelNotFound(request.params['*']),
      family: 'openai',
      requestId: null,
    })
  })
}
