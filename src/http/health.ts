import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IdSource } from '../vocabulary/ids.ts'
import { pathOf } from './known-routes.ts'

/** The checks that must pass before a load balancer sends requests here. */
export const READINESS_CHECKS = [
  ...(['serving', 'store', 'prices'] as const),
  ...(['upstream_account', 'chain_nodes', 'proxies'] as const),
] as const

/** The state of one check. */
export interface ReadinessCheck {
  readonly name: (typeof READINESS_CHECKS)[number]
  /** The problem and what to do about it, without secrets; null: the check passes. */
  readonly fault: string | null
  /** A warning for operators although the check passes. Default: nothing. */
  readonly warning?: string
}

/** The liveness and readiness probes. */
export interface Health {
  /** Answers `GET /healthz` and `GET /readyz`, or answers false: it is for another path. */
  serve(clientRequest: IncomingMessage, client: ServerResponse): boolean
}

export interface HealthInput {
  readonly ids: IdSource
  /** Called at each `GET /readyz`, so it must cost nothing: no store, no network. */
  readonly readiness: () => readonly ReadinessCheck[]
}

const ALIVE = Buffer.from(JSON.stringify({ object: 'health', alive: true }))

/**
 * Makes the probes. They are answered on Node's own server, before any framework, from what the process
 * knows, so that a thousand probes a second never reach the store.
 */
export function createHealth({ ids, readiness }: HealthInput): Health {
  const answer = (client: ServerResponse, httpStatus: 200 | 503, body: Buffer): void => {
    client.writeHead(httpStatus, {
      'content-type': 'application/json',
      'content-length': body.length,
      'cache-control': 'no-store',
      'x-request-id': ids.next('req'),
    })
    client.end(body)
  }
  return {
    serve({ method, url = '' }, client) {
      if (method !== 'GET' && method !== 'HEAD') return false
      const path = pathOf(url)
      if (path === '/healthz') {
        answer(client, 200, ALIVE)
        return true
      }
      if (path !== '/readyz') return false
      const checks = readiness()
      const ready = checks.every(({ fault }) => fault === null)
      const shown = checks.map(({ name, fault, warning }) => ({
        name,
        ok: fault === null,
        message: fault ?? warning ?? null,
      }))
      const body = Buffer.from(
        JSON.stringify({ object: 'readiness', ready, checks: shown }),
        'utf8',
      )
      answer(client, ready ? 200 : 503, body)
      return true
    },
  }
}
