import * as openid from 'openid-client'
import {
  boundedFetch,
  insecure,
  type OutsideClient,
  readEmail,
  readName,
  returnedTo,
} from './outside-client.ts'

/** GitHub, or GitHub Enterprise at an address of its own. */
export interface GithubSettings {
  /** GitHub's address: people sign in below it, and ids of people belong to it. */
  readonly url: string
  readonly apiUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** How long each call may take. */
  readonly timeoutMs: number
}

interface ApiCall {
  readonly path: string
  readonly accessToken: string
}

/** GitHub speaks OAuth 2 and no OpenID Connect: who a person is comes from its API. */
export function openGithub({
  url,
  apiUrl,
  clientId,
  clientSecret,
  timeoutMs,
}: GithubSettings): OutsideClient {
  const oauth = `${url.replace(/\/$/, '')}/login/oauth`
  const server = {
    issuer: oauth,
    authorization_endpoint: `${oauth}/authorize`,
    token_endpoint: `${oauth}/access_token`,
  }
  const relyingParty = new openid.Configuration(server, clientId, clientSecret)
  relyingParty.timeout = timeoutMs / 1_000
  relyingParty[openid.customFetch] = boundedFetch
  for (const address of [url, apiUrl]) for (const allow of insecure(address)) allow(relyingParty)

  const read = (call: ApiCall): Promise<unknown> => readApi(call, { relyingParty, apiUrl })
  return {
    async signInUrl({ redirectUri, state, codeVerifier }) {
      return openid.buildAuthorizationUrl(relyingParty, {
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        prompt: 'select_account',
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
    },
    async identityOf({ redirectUri, query, state, codeVerifier }) {
      const returned = returnedTo({ redirectUri, query })
      const { access_token: accessToken } = await openid.authorizationCodeGrant(
        relyingParty,
        returned,
        {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
        },
      )
      const person = Object(await read({ path: '/user', accessToken }))
      const { id, name, login } = person
      if (!Number.isSafeInteger(id)) throw new TypeError('/user has no id')
      const emails = await read({ path: '/user/emails', accessToken })
      return {
        issuer: url,
        subject: String(id),
        verifiedEmail: primaryOf(emails),
        name: readName(name) ?? readName(login),
      }
    },
  }
}

/** Reads a document of GitHub's API. Throws the errors of `fetch`, and if the answer is not a success. */
async function readApi(
  { path, accessToken }: ApiCall,
  {
    relyingParty,
    apiUrl,
  }: { readonly relyingParty: openid.Configuration; readonly apiUrl: string },
): Promise<unknown> {
  const resource = new URL(`${apiUrl.replace(/\/$/, '')}${path}`)
  const headers = new Headers({ accept: 'application/vnd.github+json' })
  const answer = await openid.fetchProtectedResource(
    relyingParty,
    accessToken,
    resource,
    'GET',
    null,
    headers,
  )
  if (answer.status !== 200) throw new TypeError(`${path} was answered ${answer.status}`)
  return answer.json()
}

/** The address that is the primary one and verified: of the others a person may lose control unnoticed. */
function primaryOf(emails: unknown): string | null {
  if (!Array.isArray(emails)) return null
  const primary = emails.map(Object).find((each) => each.primary === true)
  return primary?.verified === true ? readEmail(primary.email) : null
}
