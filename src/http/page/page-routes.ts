import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Operation } from '../../operations/operation.ts'
import { UnknownRoute } from '../known-routes.ts'
import { arrivalOf, type OnAccessTaken, registerOperations } from '../operation-routes.ts'
import { isNamed } from '../public-routes.ts'
import { FACTOR_CALLS } from './factor-routes.ts'
import { memberAccess, operatorAccess } from './page-access.ts'
import { registerCalls } from './page-calls.ts'
import { registerPageFiles } from './page-files.ts'
import { type PlaygroundInput, registerPlayground } from './playground-routes.ts'
import { SESSION_CALLS } from './session-routes.ts'
import { USER_CALLS } from './user-routes.ts'

/** The parts of the page. */
export interface PageInput extends Omit<PlaygroundInput, keyof ServerParts> {
  /** The folder of its built files. */
  readonly folder: string
}

/** The parts of the server that the page's routes use. */
interface ServerParts extends Pick<PlaygroundInput, 'formats' | 'inference'> {
  readonly operations: readonly Operation[]
  readonly onAccessTaken: OnAccessTaken
}

/** Answers to the page are for this browser, now. */
const API_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const READING = new Set(['GET', 'HEAD'])

/**
 * The page: its files below `/app`, and its calls below `/app/api`. A call that changes something must come
 * from the page itself.
 */
export function registerPage(
  app: FastifyInstance,
  { operations, formats, inference, onAccessTaken, ...input }: PageInput & ServerParts,
): void {
  registerPageFiles(app, input.folder)
  app.register(async (api) => {
    api.addHook('onRequest', async (request, reply) => {
      // On the raw response, because a problem is answered there.
      for (const [name, value] of Object.entries(API_HEADERS)) reply.raw.setHeader(name, value)
      if (!READING.has(request.method)) input.site.requireOwn(arrivalOf(request))
    })
    api.addHook('onSend', async (request, reply, answer) => {
      if (!READING.has(request.method) || typeof answer !== 'string') return answer
      const etag = `"${hash('sha256', answer, 'base64url').slice(0, 22)}"`
      reply.header('etag', etag)
      if (!isNamed(etag, request.headers['if-none-match'])) return answer
      reply.code(304)
      return ''
    })
    const calls = [...SESSION_CALLS, ...FACTOR_CALLS, ...USER_CALLS]
    registerCalls(api, { ...input, onAccessTaken }, calls)
    const { bodyTimeoutMs } = input
    for (const access of [memberAccess(input), operatorAccess(input)]) {
      registerOperations(api, { operations, access, bodyTimeoutMs, onAccessTaken })
    }
    registerPlayground(api, { ...input, formats, inference })
    for (const url of ['/app/api', '/app/api/*']) {
      api.all(url, () => {
        throw new UnknownRoute()
      })
    }
  })
}
