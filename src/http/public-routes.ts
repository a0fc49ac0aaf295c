import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { modelNotFound } from '../catalog/catalog.ts'
import type { WireFormat } from '../formats/format.ts'
import { Problem } from '../vocabulary/problem.ts'
import { answerProblem } from './answer-problem.ts'

/** What the routes that need no key show. */
export interface PublicRoutesInput {
  readonly version: string
  /** `simulator`: the built-in upstream answers, and all money is play money. */
  readonly mode: 'simulator' | 'live'
  readonly formats: readonly Pick<WireFormat, 'endpoint' | 'path'>[]
  /** The catalog: the same buffers until its next refresh. */
  readonly catalog: {
    /** The list of all models as JSON bytes. */
    readonly listBytes: () => Buffer
    /** One model as JSON bytes, by any name that resolves; null where none does. */
    readonly modelBytes: (modelName: string) => Buffer | null
  }
}

/** Routes that need no key: the service, its models, and paths that only say why nothing is there. */
export function registerPublicRoutes(app: FastifyInstance, input: PublicRoutesInput): void {
  registerService(app, input)
  registerModels(app, input)
  for (const { method, path: url } of RETIRED_PATHS) {
    app.route({ method, url, handler: refuse(() => new Problem('endpoint_retired')) })
  }
}

function refuse(problem: () => Problem): () => never {
  return () => {
    throw problem()
  }
}

/** `GET /v1`: what this is, for a person or a script that has only the address. */
function registerService(
  app: FastifyInstance,
  { version, mode, formats }: PublicRoutesInput,
): void {
  const service = {
    object: 'service',
    name: 'tollgate',
    version,
    mode,
    formats: formats.map(({ endpoint, path }) => ({ name: endpoint, path })),
    links: { models: '/v1/models', openapi: '/openapi.json', docs: '/docs' },
  }
  const kept = keptAnswer(Buffer.from(JSON.stringify(service)))
  app.get('/v1', (_request, reply) => sendKept(reply, kept))
}

/** `GET /v1/models` and `GET /v1/models/{id}`. */
function registerModels(app: FastifyInstance, { catalog }: PublicRoutesInput): void {
  // A refresh brings other buffers, and those before it are forgotten with their tags.
  const keptByBytes = new WeakMap<Buffer, KeptAnswer>()
  const keptOf = (bytes: Buffer): KeptAnswer => {
    const earlier = keptByBytes.get(bytes)
    if (earlier !== undefined) return earlier
    const kept = keptAnswer(bytes)
    keptByBytes.set(bytes, kept)
    return kept
  }
  app.get('/v1/models', (_request, reply) => sendKept(reply, keptOf(catalog.listBytes())))
  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const bytes = catalog.modelBytes(request.params['*'])
    if (bytes !== null) {
      sendKept(reply, keptOf(bytes))
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

/** Paths of an earlier release: keys are made by admins now. Answered 410. */
export const RETIRED_PATHS = [
  { method: 'POST', path: '/v1/faucet' },
  { method: 'POST', path: '/v1/auth/nonce' },
  { method: 'GET', path: '/v1/keys' },
  { method: 'POST', path: '/v1/keys' },
  { method: 'DELETE', path: '/v1/keys/:id' },
] as const

/** The bytes of an answer that is the same for every client, with the tag that names them. */
export interface KeptAnswer {
  readonly bytes: Buffer
  /** As in `ETag`, quotes included: two answers have the same tag only where they have the same bytes. */
  readonly etag: string
  readonly contentType: string
}

/** Keeps the bytes of an answer. They must not be written to any more. */
export function keptAnswer(bytes: Buffer, contentType = 'application/json'): KeptAnswer {
  // 128 bits of a digest: enough that no two answers ever share them.
  const etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`
  return { bytes, etag, contentType }
}

/**
 * Sends an answer as it is kept, or 304 to a client that has it already. Clients may keep it too; by
 * default they ask each time whether it is still the same.
 */
export function sendKept(
  reply: FastifyReply,
  { bytes, etag, contentType }: KeptAnswer,
  cacheControl = 'no-cache',
): void {
  const { request } = reply
  reply.header('x-request-id', request.id).header('etag', etag)
  reply.header('cache-control', cacheControl)
  if (isNamed(etag, request.headers['if-none-match'])) reply.code(304).send()
  else reply.type(contentType).send(bytes)
}

/** Whether `If-None-Match` names a tag. A weak tag counts as its strong one, as RFC 9110 has it for GET. */
export function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
}
