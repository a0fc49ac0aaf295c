import { Problem } from '../vocabulary/problem.ts'

/** Request headers as Node gives them: names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const BEARER = /^bearer +(\S.*)$/i

/**
 * The keys that a request presents: a bearer token, then `x-api-key`. At least one; where clients
 * send both, the one that is a key of ours counts. Throws the Problem `missing_api_key`.
 */
export function readCredentials(headers: Headers): readonly string[] {
  const presented: string[] = []
  const authorization = single(headers['authorization'])
  const bearer = authorization === null ? undefined : BEARER.exec(authorization.trim())?.[1]
  if (bearer !== undefined) presented.push(bearer.trim())
  const apiKey = single(headers['x-api-key'])?.trim() ?? ''
  if (apiKey !== '') presented.push(apiKey)
  if (presented.length === 0) throw new Problem('missing_api_key')
  return presented
}

/** A header given more than once is nobody's key. */
function single(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}
