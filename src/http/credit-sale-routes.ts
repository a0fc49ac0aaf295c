import type { FastifyInstance } from 'fastify'
import { Problem } from '../vocabulary/problem.ts'

/** `GET /v1/credit` and `GET /v1/credit/quote`: credit is not for sale here, only given by admins. */
export function registerCreditSaleRoutes(app: FastifyInstance): void {
  for (const path of ['/v1/credit', '/v1/credit/quote']) {
    app.get(path, () => {
      throw new Problem('not_found', { message: 'This service does not sell credit.' })
    })
  }
}
