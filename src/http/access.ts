import { createHash, timingSafeEqual } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Gate, GateCaller, GateSettings } from '../journey/gate/gate.ts'
import type { UnknownCallers } from '../journey/gate/unknown-callers.ts'
import type { Caller, CallerKind } from '../operations/caller.ts'
import { scopesOf } from '../people/admin-tokens.ts'
import type { KnownTokens } from '../people/known-tokens.ts'
import type { Arrival } from '../vocabulary/call.ts'
import type { IdSource } from '../vocabulary/ids.ts'

/** How one kind of caller gets access to its operations. */
export interface Access {
  readonly kind: CallerKind
  /**
   * Everything below this path is refused without access, known or not, so that a stranger does not learn
   * which paths exist. Null: only the paths of operations are refused.
   */
  readonly guards: `/${string}` | null
  /** Finds the caller before the body is read. `params` are those of the path. Throws Problem. */
  authenticate(arrival: Arrival, params: Readonly<Record<string, string>>): Promise<Caller>
  /** Called once for each request, before its body is read. Throws Problem. Default: not called. */
  readonly onCaller?: (caller: Caller, client: ServerResponse) => void
  /** Called with each request below the guarded path when it has been answered. Default: not called. */
  readonly onAnswered?: (call: AnsweredCall) => void
}

/** A request to a guarded path, for the log. */
export interface AnsweredCall {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly httpStatus: number
}

/** Access by an admin token, to everything below `/v1/admin`. */
export function adminAccess(input: {
  /** The token of the settings. */
  readonly adminToken: string
  /** Tokens from `tollgate token create` and the admin API. */
  readonly knownTokens: Pick<KnownTokens, 'find'>
  /** Makes the ids of new objects. */
  readonly ids: IdSource
  /** Counts, by address, the requests with another token. */
  readonly unknownCallers: Pick<UnknownCallers, 'refusal'>
  readonly onAnswered: (call: AnsweredCall) => void
}): Access {
  const { adminToken, knownTokens, ids, unknownCallers, onAnswered } = input
  const isConfiguredToken = bearerCheck(adminToken)
  return {
    kind: 'admin',
    guards: '/v1/admin',
    onAnswered,
    async authenticate(arrival) {
      const { authorization } = arrival.headers
      if (isConfiguredToken(authorization)) {
        return { kind: 'admin', token: { ...TOKEN_OF_SETTINGS, actionId: ids.next('act') } }
      }
      const presented = bearerOf(authorization)
      const known = presented === undefined ? null : await knownTokens.find(presented)
      if (known !== null) {
        const { id, name, expiresAtMs } = known
        const scopes = scopesOf(known)
        const actionId = ids.next('act')
        return { kind: 'admin', token: { id, name, scopes, expiresAtMs, actionId } }
      }
      throw unknownCallers.refusal(arrival, {
        code: 'invalid_admin_token',
        ...(presented === undefined ? {} : { message: wrongToken(presented) }),
      })
    },
  }
}

function wrongToken(presented: string): string {
  return /^sk-/i.test(presented)
    ? 'This is an API key. The admin API takes an admin token: ADMIN_API_TOKEN, or one of `tollgate token create`.'
    : 'The admin token is unknown, expired or revoked.'
}

const TOKEN_OF_SETTINGS = {
  id: null,
  name: 'ADMIN_API_TOKEN',
  scopes: ['everything'],
  expiresAtMs: null,
} as const

/** Access of anyone: no credential is asked for, and any that is sent is ignored. */
export const anyoneAccess: Access = {
  kind: 'anyone',
  guards: null,
  authenticate: async () => ({ kind: 'anyone' }),
}

/** Counts a call in a gate until its response has ended. Throws Problem `rate_limited`. */
export function countUntilAnswered(gate: Gate, caller: GateCaller, client: ServerResponse): void {
  const slot = gate.enter(caller)
  finished(client, () => slot.leave())
}

/** The limits of a key's calls other than inference. Limits of its requests do not change it. */
export const CALL_LIMITS: GateSettings = {
  counts: 'calls',
  inFlightMax: 256,
  requestsPerMinuteMax: 6_000,
}

/**
 * The limit for all keys of an account together, which bounds their memory. Long reports of an account wait for each
 * other.
 */
const CALLS_OF_ACCOUNT = {
  keyRequestsPerMinuteMax: null,
  keyInFlightMax: null,
  accountRequestsPerMinuteMax: null,
  accountInFlightMax: CALL_LIMITS.inFlightMax,
}

/** Access by an API key, to its own account. `gate` counts these calls, apart from inference. */
export function keyAccess(
  gate: Gate,
  authenticate: (arrival: Arrival) => Promise<{
    readonly apiKeyId: string
    readonly accountId: string
  }>,
): Access {
  return {
    kind: 'key',
    guards: null,
    async authenticate(arrival) {
      const { apiKeyId, accountId } = await authenticate(arrival)
      return { kind: 'key', apiKeyId, accountId }
    },
    onCaller(caller, client) {
      if (caller.kind !== 'key') return
      const { apiKeyId, accountId } = caller
      const ofAccount = { hasBackedCredit: true, ownLimits: CALLS_OF_ACCOUNT }
      countUntilAnswered(gate, { apiKeyId, accountId, ...ofAccount }, client)
    },
  }
}

/**
 * Makes a check whether an `Authorization` header presents a token. It takes a time that reveals nothing
 * of the token, not even its length.
 */
export function bearerCheck(
  bearerToken: string,
): (authorization: Arrival['headers'][string]) => boolean {
  const expected = digest(bearerToken)
  return (authorization) => {
    const presented = bearerOf(authorization)
    return presented !== undefined && timingSafeEqual(digest(presented), expected)
  }
}

function bearerOf(authorization: Arrival['headers'][string] = ''): string | undefined {
  return /^bearer +(\S+) *$/i.exec(String(authorization))?.[1]
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
