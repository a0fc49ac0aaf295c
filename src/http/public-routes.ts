import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Catalog } from '../catalog/catalog.ts'
import { listOf, type ServedList } from '../catalog/served-models.ts'
import type { WireFormat } from '../formats/format.ts'
import type { Caller, ModelAccess } from '../journey/gate/caller.ts'
import type { Arrival } from '../vocabulary/call.ts'
import { Problem } from '../vocabulary/problem.ts'
import { answerProblem } from './answer-problem.ts'
import { UnknownRoute } from './known-routes.ts'
import { arrivalOf } from './operation-routes.ts'

/** The parts of the routes that need no key. */
export interface PublicRoutesInput {
  readonly version: string
  /** `simulator`: the built-in upstream answers, and all money is play money. */
  readonly mode: 'simulator' | 'live'
  readonly formats: readonly Pick<WireFormat, 'endpoint' | 'path'>[]
  readonly catalog: Pick<Catalog, 'served' | 'idOf' | 'notFound'>
  /** The caller by the key of a request; null: it has no valid key. Never rejects. */
  readonly callerOf: (arrival: Arrival) => Promise<Pick<Caller, 'models' | 'feeBasisPoints'> | null>
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

/** `GET /v1`: describes the service to a person or a script that has only the address. */
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
function registerModels(app: FastifyInstance, { catalog, callerOf }: PublicRoutesInput): void {
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
    const caller = await callerOf(arrivalOf(request))
    const models = caller?.models ?? null
    const served = catalog.served(caller?.feeBasisPoints ?? null)
    const kept = models === null ? keptOf(served.listBytes) : keptOfKeys.of(models, served)
    sendKept(reply.header('vary', KEY_HEADERS), kept, cacheControlOf(caller))
    return reply
  })
  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    const name = request.params['*']
    if (name === '') throw new UnknownRoute()
    const modelId = catalog.idOf(name)
    const caller = await callerOf(arrivalOf(request))
    if (modelId !== null) {
      caller?.models?.require(modelId)
      const bytes = catalog.served(caller?.feeBasisPoints ?? null).bytesById.get(modelId)
      if (bytes !== undefined) {
        sendKept(reply.header('vary', KEY_HEADERS), keptOf(bytes), cacheControlOf(caller))
        return reply
      }
    }
    // It depends on the key, and by default a cache may keep a 404.
    reply.raw.setHeader('cache-control', 'no-store')
    reply.hijack()
    answerProblem({
      clientRequest: request.raw,
      client: reply.raw,
      problem: catalog.notFound(name, caller?.models ?? null),
      family: 'openai',
      requestId: null,
    })
    return reply
  })
}

const KEY_HEADERS = 'authorization, x-api-key'

/** A list that differs by key is for the key's own client; the list of all may be kept by a shared cache. */
function cacheControlOf(caller: Pick<Caller, 'models' | 'feeBasisPoints'> | null): string {
  const isOwn = caller !== null && (caller.models !== null || caller.feeBasisPoints !== null)
  return isOwn ? 'private, no-cache' : 'no-cache'
}

// A list can have a megabyte.
const KEPT_LISTS_MAX = 20

/** The lists of the keys that asked most recently. */
class KeptLists {
  readonly #kept = new Map<ModelAccess, { readonly of: ServedList; readonly list: KeptAnswer }>()

  /** By position: the models of a key, and the list that it is a part of, which a refresh replaces. */
  of(models: ModelAccess, served: ServedList): KeptAnswer {
    const earlier = this.#kept.get(models)
    if (earlier?.of === served) return earlier.list
    const shown = [...served.bytesById].filter(([modelId]) => models.mayUse(modelId))
    const list = keptAnswer(listOf(shown.map(([, bytes]) => bytes)))
    if (this.#kept.size >= KEPT_LISTS_MAX) this.#kept.clear()
    this.#kept.set(models, { of: served, list })
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
  /** The value of `ETag`, quotes included: two answers have the same tag only if they have the same bytes. */
  readonly etag: string
  readonly contentType: string
}

/** Keeps the bytes of an answer. They must not change afterwards. */
export function keptAnswer(bytes: Buffer, contentType = 'application/json'): KeptAnswer {
  return { bytes, etag: etagOf(bytes), contentType }
}

/** The tag of an answer: 128 bits of its digest, enough that no two answers ever share them. */
export function etagOf(answer: Buffer | string): string {
  return `"${hash('sha256', answer, 'base64url').slice(0, 22)}"`
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
