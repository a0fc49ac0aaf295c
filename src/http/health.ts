import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IdSource } from '../vocabulary/ids.ts'

/** What must hold for requests to be worth sending here. */
type ReadinessCheckName = 'store' | 'prices' | 'serving' | 'upstream_account'

/** Whether one of them holds at this moment. */
export interface ReadinessCheck {
  readonly name: ReadinessCheckName
  /** What is wrong and what to do about it, fit for anybody's eyes; null: nothing is wrong. */
  readonly fault: string | null
}

/** The two questions that whoever runs the gateway asks it again and again. */
export interface Health {
  /** Answers `GET /healthz` and `GET /readyz`, or answers false: it is for another path. */
  serve(clientRequest: IncomingMessage, client: ServerResponse): boolean
}

export interface HealthInput {
  readonly ids: IdSource
  /** Asked at each `GET /readyz`, so it must cost nothing: no store, no network. */
  readonly readiness: () => readonly ReadinessCheck[]
}

const ALIVE = Buffer.from(JSON.stringify({ object: 'health', alive: true }))

/**
 * Answered on Node's own server, before any framework, from what the process knows: a server that is
 * busy says so only by being slow, and a thousand questions a second reach no store.
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
      if (isAt(url, '/healthz')) {
        answer(client, 200, ALIVE)
        return true
      }
      if (!isAt(url, '/readyz')) return false
      const checks = readiness()
      const ready = checks.every(({ fault }) => fault === null)
      const told = checks.map(({ name, fault }) => ({ name, ok: fault === null, message: fault }))
      const body = Buffer.from(JSON.stringify({ object: 'readiness', ready, checks: told }), 'utf8')
      answer(client, ready ? 200 : 503, body)
      return true
    },
  }
}

/** By position: the address that is asked for, and a path. */
function isAt(url: string, path: string): boolean {
  return url.startsWith(path) && (url.length === path.length || url[path.length] === '?')
}
