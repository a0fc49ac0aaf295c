import * as openid from 'openid-client'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import type { OutsideIdentity } from './outside-identity.ts'

/** The secrets that a sign-in at a provider is bound to, in addition to its return address. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

/** The return address of a sign-in, which the provider compares with the registered one. */
interface Return {
  readonly redirectUri: string
}

/** A provider at which people prove who they are. */
export interface OutsideClient {
  /** The address to send the browser to. Rejects if the provider is away. */
  signInUrl(begun: SignInSecrets & Return): Promise<URL>
  /**
   * The identity of the person who came back; `query` is the part that the provider added to the address. Rejects with
   * the fault of the provider's answer or of its tokens.
   */
  identityOf(
    returned: SignInSecrets & Return & { readonly query: string },
  ): Promise<OutsideIdentity>
}

/** A provider of OpenID Connect. */
export interface OidcSettings {
  /** The provider's address, which its tokens must name. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** How it is given the secret: in the body, or as `Authorization: Basic`. */
  readonly clientAuth: 'post' | 'basic'
  /** Whether the provider lets a person choose among accounts each time, where it knows of that. */
  readonly asksWhichAccount: boolean
  /** How long each call may take. */
  readonly timeoutMs: number
}

const KNOWN_MS = HOUR_MS
const ANSWER_BYTES_MAX = 1024 * 1024

/** OpenID Connect, by code and PKCE: signature, issuer, audience, nonce and age of the token are checked. */
export function openOidc({
  issuer,
  clientId,
  clientSecret,
  clientAuth,
  asksWhichAccount,
  timeoutMs,
}: OidcSettings): OutsideClient {
  let known: {
    readonly relyingParty: Promise<openid.Configuration>
    readonly untilMs: number
  } | null = null
  const auth = clientAuth === 'post' ? openid.ClientSecretPost : openid.ClientSecretBasic
  const discover = (): Promise<openid.Configuration> => {
    const nowMs = performance.now()
    if (known !== null && nowMs < known.untilMs) return known.relyingParty
    const relyingParty = openid.discovery(new URL(issuer), clientId, {}, auth(clientSecret), {
      execute: [...insecure(issuer), openid.enableNonRepudiationChecks],
      timeout: timeoutMs / 1_000,
      [openid.customFetch]: boundedFetch,
    })
    const made = { relyingParty, untilMs: nowMs + KNOWN_MS }
    known = made
    relyingParty.catch(() => {
      if (known === made) known = null
    })
    return relyingParty
  }
  return {
    async signInUrl({ redirectUri, state, nonce, codeVerifier }) {
      return openid.buildAuthorizationUrl(await discover(), {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        ...(asksWhichAccount ? { prompt: 'select_account' } : {}),
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
    },
    async identityOf({ redirectUri, query, state, nonce, codeVerifier }) {
      const relyingParty = await discover()
      const tokens = await openid.authorizationCodeGrant(
        relyingParty,
        returnedTo({ redirectUri, query }),
        {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        },
      )
      const claims = tokens.claims()
      if (claims === undefined) throw new TypeError('an ID token is expected')
      const hasMore = relyingParty.serverMetadata().userinfo_endpoint !== undefined
      const person =
        claims['email'] === undefined && hasMore
          ? await openid.fetchUserInfo(relyingParty, tokens.access_token, claims.sub)
          : claims
      return {
        issuer: claims.iss,
        subject: claims.sub,
        verifiedEmail: person['email_verified'] === true ? readEmail(person['email']) : null,
        name: readName(person['name']),
      }
    },
  }
}

/** The address that a provider sent a browser back to. */
export function returnedTo({ redirectUri, query }: Return & { readonly query: string }): URL {
  const url = new URL(redirectUri)
  url.search = query
  return url
}

/** Providers on this machine have no TLS; the settings take no other address without it. */
export function insecure(address: string) {
  return new URL(address).protocol === 'http:' ? [openid.allowInsecureRequests] : []
}

/** An answer of a provider, whole, and not of any size. Redirects are not followed. */
export const boundedFetch: openid.CustomFetch = async (url, { body, ...rest }) => {
  const answer = await fetch(url, {
    ...rest,
    // A copy of bytes is in a buffer of its own: by the types of browsers, `fetch` takes no shared one.
    ...(body == null ? {} : { body: body instanceof Uint8Array ? body.slice() : body }),
    redirect: 'manual',
  })
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new TypeError('the answer is too large')
    parts.push(part)
  }
  const { status, statusText, headers } = answer
  const isEmpty = status === 204 || status === 304
  return new Response(isEmpty ? null : Buffer.concat(parts), { status, statusText, headers })
}

/** A plain address, as users have it; null: it is none. */
export function readEmail(value: unknown): string | null {
  const isPlain = typeof value === 'string' && value.length <= 320 && /^[\x21-\x7e]+$/.test(value)
  return isPlain && /^[^@"(),:;<>[\\\]]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(value)
    ? value.toLowerCase()
    : null
}

const NAME_CHARS_MAX = 200

/** A name as it can be stored and shown; null: it is none. */
export function readName(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const name = value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
  return name === '' ? null : name.slice(0, NAME_CHARS_MAX).toWellFormed()
}
