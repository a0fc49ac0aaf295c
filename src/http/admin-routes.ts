import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { UnknownCallers } from '../journey/gate/unknown-callers.ts'
import type { Operation } from '../operations/operation.ts'
import { bearerCheck } from './bearer-check.ts'
import { arrivalOf, registerOperations } from './register-operations.ts'
import { unknownRoute } from './unknown-route.ts'

/** What was asked of the admin API, for the log. */
export interface AdminCall {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly httpStatus: number
}

interface AdminRoutesInput {
  readonly operations: readonly Operation[]
  readonly bodyTimeoutMs: number
  /** What whoever calls must send. */
  readonly adminToken: string
  /** Those who send another. */
  readonly unknownCallers: UnknownCallers
  /** Told of each call when it has been answered. */
  readonly onAnswered: (call: AdminCall) => void
}

const PREFIX = '/v1/admin'

/**
 * The admin API. Whatever is asked below its prefix, known or not, is answered 401 without the token,
 * so that nobody else learns what is there.
 */
export function registerAdminRoutes(app: FastifyInstance, input: AdminRoutesInput): void {
  app.register(async (scope) => {
    const isAdmin = bearerCheck(input.adminToken)
    scope.addHook('onRequest', async (request) => {
      if (isAdmin(request.headers.authorization)) return
      throw input.unknownCallers.refusal(arrivalOf(request), {
        code: 'invalid_admin_token',
        ...(request.headers.authorization === undefined
          ? {}
          : { message: 'The admin token is wrong.' }),
      })
    })
    scope.addHook('onResponse', async ({ id, method, url }, reply) => {
      const [path = ''] = url.split('?')
      input.onAnswered({ requestId: id, method, path, httpStatus: reply.raw.statusCode })
    })
    registerOperations(scope, input)
    const notFound = ({ raw }: FastifyRequest): never => {
      throw unknownRoute(raw)
    }
    for (const url of [PREFIX, `${PREFIX}/*`]) scope.all(url, notFound)
  })
}
