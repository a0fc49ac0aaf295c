import type { FastifyInstance } from 'fastify'
import { Problem } from '../vocabulary/problem.ts'

/** What existed once: keys are made in the dashboard and by admins now. */
export const RETIRED_PATHS = [
  { method: 'POST', path: '/v1/faucet' },
  { method: 'POST', path: '/v1/auth/nonce' },
  { method: 'GET', path: '/v1/keys' },
  { method: 'POST', path: '/v1/keys' },
  { method: 'DELETE', path: '/v1/keys/:id' },
] as const

/** Answers 410 on retired paths, whoever asks. */
export function registerRetiredRoutes(app: FastifyInstance): void {
  for (const { method, path } of RETIRED_PATHS) {
    app.route({
      method,
      url: path,
      handler() {
        throw new Problem('endpoint_retired')
      },
    })
  }
}
