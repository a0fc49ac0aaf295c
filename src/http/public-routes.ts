import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { modelNotFound } from '../catalog/catalog.ts'
import type { WireFormat } from '../formats/format.ts'
import type { ModelAccess } from '../journey/gate/model-access.ts'
import type { Arrival } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import { answerProblem } from './answer-problem.ts'
import { arrivalOf } from './operation-routes.ts'

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
    /** The list of some of them. */
    readonly someBytes: (isShown: (modelId: string) => boolean) => Buffer
    /** The id of the model that a name resolves to; null where none does. */
    readonly idOf: (modelName: string) => string | null
    /** One model as JSON bytes, by any name that resolves; null where none does. */
    readonly modelBytes: (modelName: string) => Buffer | null
  }
  /** The models of the key that a request has; null: all, also where it has no good key. Never rejects. */
  readonly modelsOf: (arrival: Arrival) => Promise<ModelAccess | null>
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
function registerModels(app: FastifyInstance, { catalog, modelsOf }: PublicRoutesInput): void {
  // A refresh brings other buffers, and those before it are forgotten with their tags.
  const keptByBytes = new WeakMap<Buffer, KeptAnswer>()
  const keptOf = (bytes: Buffer): KeptAnswer => {
    const earlier = keptByBytes.get(bytes)
    if (earlier !== undefined) return earlier
    const kept = keptAnswer(bytes)
    keptByBytes.set(bytes, kept)
    return kept
  }
  const keptOfKeys = new KeptLists()
  app.get('/v1/models', async (request, reply) => {
    const models = await modelsOf(arrivalOf(request))
    const all = catalog.listBytes()
    const kept =
      models === null
        ? keptOf(all)
        : keptOfKeys.of(models, all, () => catalog.someBytes((id) => models.mayUse(id)))
    sendKept(reply.header('vary', KEY_HEADERS), kept, cacheControlOf(models))
    return reply
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    const name = request.params['*']
    const bytes = catalog.modelBytes(name)
    if (bytes !== null) {
      const models = await modelsOf(arrivalOf(request))
      models?.require(catalog.idOf(name) ?? name)
      sendKept(reply.header('vary', KEY_HEADERS), keptOf(bytes), cacheControlOf(models))
      return reply
    }
    reply.hijack()
    answerProblem({
      clientRequest: request.raw,
      client: reply.raw,
      problem: modelNotFound(name),
      family: 'openai',
      requestId: null,
    })
    return reply
  })
}

const KEY_HEADERS = 'authorization, x-api-key'

/** What a key may use is for the key's own client; what all may use may be kept by a shared cache. */
function cacheControlOf(models: ModelAccess | null): string {
  return models === null ? 'no-cache' : 'private, no-cache'
}

// A list can have a megabyte.
const KEPT_LISTS_MAX = 20

/** The lists of the keys that asked last. */
class KeptLists {
  readonly #kept = new Map<ModelAccess, { readonly all: Buffer; readonly list: KeptAnswer }>()

  /** `all`: the list that it is a part of, which a refresh replaces. */
  of(models: ModelAccess, all: Buffer, make: () => Buffer): KeptAnswer {
    const earlier = this.#kept.get(models)
    if (earlier?.all === all) return earlier.list
    const list = keptAnswer(make())
    if (this.#kept.size >= KEPT_LISTS_MAX) this.#kept.clear()
    this.#kept.set(models, { all, list })
    return list
  }
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
