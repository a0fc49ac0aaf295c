import type { RequestHeaders } from '../../vocabulary/call.ts'
import type { ModelAccess } from './model-access.ts'

/** The sender of a request: an account, by one of its keys. */
export interface Caller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether paid credit was ever added to the account. */
  readonly hasBackedCredit: boolean
  /** The account's platform fee, in hundredths of a percent; null: the model's fee. */
  readonly feeBasisPoints: number | null
  /** Null: it may use every model. */
  readonly models: ModelAccess | null
  /** The own limits of the key and the account; left out: neither has any. */
  readonly ownLimits?: CallerLimits
}

/** Limits of a key and of its account; null: the deployment's limit. */
export interface CallerLimits {
  readonly keyRequestsPerMinuteMax: number | null
  readonly keyInFlightMax: number | null
  readonly accountRequestsPerMinuteMax: number | null
  readonly accountInFlightMax: number | null
}

/** An API key that has changed, or an account with all of its keys. */
export type ChangedCallers = { readonly apiKeyId: string } | { readonly accountId: string }

const BEARER = /^bearer +(\S.*)$/i

/** The keys that a request presents: a bearer token, then `x-api-key`. Some clients send both. */
export function readCredentials(headers: RequestHeaders): readonly string[] {
  const presented: string[] = []
  const authorization = single(headers['authorization'])
  const bearer = authorization === null ? undefined : BEARER.exec(authorization.trim())?.[1]
  if (bearer !== undefined) presented.push(bearer.trim())
  const apiKey = single(headers['x-api-key'])?.trim() ?? ''
  if (apiKey !== '') presented.push(apiKey)
  return presented
}

/** Headers in which clients of other services send their keys. */
const OTHER_HEADERS = ['api-key', 'x-goog-api-key', 'x-auth-token']

/** The 401 of a request without a known key. By position: its headers, and whether one of them has the shape of a key. */
export function refusalOf(
  headers: RequestHeaders,
  hasKeyShape: boolean,
): { readonly code: 'missing_api_key' | 'invalid_api_key'; readonly message?: string } {
  if (hasKeyShape) return { code: 'invalid_api_key' }
  if (readCredentials(headers).length > 0) {
    return {
      code: 'invalid_api_key',
      message:
        'This is not an API key of this gateway. Check it for missing characters and quotes, and that it ' +
        'is not the key of another service or an admin token.',
    }
  }
  const code = 'missing_api_key'
  if (single(headers['authorization']) !== null) {
    return {
      code,
      message: 'The `authorization` header has no API key: send `Authorization: Bearer <key>`.',
    }
  }
  const other = OTHER_HEADERS.find((name) => headers[name] !== undefined)
  if (other === undefined) return { code }
  const message = `The header \`${other}\` is not read: send the API key as \`Authorization: Bearer <key>\`.`
  return { code, message }
}

/** A header that is sent twice holds no valid key. */
function single(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}
