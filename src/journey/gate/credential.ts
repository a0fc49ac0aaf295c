import type { RequestHeaders } from '../../vocabulary/call.ts'

const BEARER = /^bearer +(\S.*)$/i

/**
 * The keys that a request presents: a bearer token, then `x-api-key`. Where clients send both, the one
 * that is a key of ours counts.
 */
export function readCredentials(headers: RequestHeaders): readonly string[] {
  const presented: string[] = []
  const authorization = single(headers['authorization'])
  const bearer = authorization === null ? undefined : BEARER.exec(authorization.trim())?.[1]
  if (bearer !== undefined) presented.push(bearer.trim())
  const apiKey = single(headers['x-api-key'])?.trim() ?? ''
  if (apiKey !== '') presented.push(apiKey)
  return presented
}

/** A header given more than once is nobody's key. */
function single(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}
