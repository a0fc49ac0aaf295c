import type { IncomingMessage } from 'node:http'
import { echoed } from '../vocabulary/echoed.ts'
import { Problem } from '../vocabulary/problem.ts'

/** The 404 of a method and path that nothing is at. */
export function unknownRoute({
  method = '',
  url = '',
}: Pick<IncomingMessage, 'method' | 'url'>): Problem {
  const [path = ''] = url.split('?')
  const shown = echoed(path)
  const named = shown === null ? 'This path' : `${method} ${shown}`
  const why = /^\/v1\/v1(?:\/|$)/.test(path)
    ? 'the path has one /v1 too many. Set the base URL of the client without /v1.'
    : '/docs lists the endpoints.'
  return new Problem('not_found', { message: `${named} does not exist: ${why}` })
}
