import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../../vocabulary/testing/listen.ts'

/** The part of GitHub that a sign-in needs, on its own port. */
export interface ScriptedGithub {
  readonly url: string
  readonly apiUrl: string
  /** The answer of `/user`. */
  person: { readonly id: number; readonly login: string; readonly name: string | null }
  /** The answer of `/user/emails`. */
  emails: readonly {
    readonly email: string
    readonly primary: boolean
    readonly verified: boolean
  }[]
  /** A path that is never answered, or with 503. */
  hangs: string | null
  fails: string | null
  /** The address to which a person returns who agrees to a sign-in. */
  authorize(signInUrl: URL): string
  close(): Promise<void>
}

interface Grant {
  readonly challenge: string
  readonly redirectUri: string
  readonly clientId: string
}

export async function startGithub(): Promise<ScriptedGithub> {
  const grants = new Map<string, Grant>()
  const tokens = new Set<string>()
  const state: Pick<ScriptedGithub, 'person' | 'emails' | 'hangs' | 'fails'> = {
    person: { id: 583_231, login: 'ada', name: 'Ada Lovelace' },
    emails: [
      { email: 'old@example.org', primary: false, verified: true },
      { email: 'Ada@example.org', primary: true, verified: true },
    ],
    hangs: null,
    fails: null,
  }

  /** GitHub answers 200 even when it refuses a code. */
  const exchange = (form: URLSearchParams): object => {
    const code = form.get('code') ?? ''
    const grant = grants.get(code)
    grants.delete(code)
    const verifier = form.get('code_verifier') ?? ''
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const isRight =
      grant?.challenge === challenge &&
      grant.redirectUri === form.get('redirect_uri') &&
      grant.clientId === form.get('client_id') &&
      form.get('client_secret') === 'secret'
    if (!isRight) return { error: 'bad_verification_code', error_description: 'It has expired.' }
    const token = `gho_${randomUUID()}`
    tokens.add(token)
    return { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' }
  }

  const answerOf = (path: string, authorization: string): object | null => {
    if (!tokens.has(authorization.replace(/^bearer /i, ''))) return null
    if (path === '/api/user') return state.person
    return path === '/api/user/emails' ? state.emails : null
  }

  const server = createServer(async (request, response) => {
    const asked = new URL(request.url ?? '/', url)
    const { pathname } = asked
    if (pathname === github.hangs) return
    if (pathname === '/login/oauth/authorize') {
      const back = `${asked.searchParams.get('redirect_uri')}?${github.authorize(asked)}`
      response.writeHead(302, { location: back }).end()
      return
    }
    const body =
      pathname === '/login/oauth/access_token'
        ? exchange(new URLSearchParams(await text(request)))
        : answerOf(pathname, request.headers.authorization ?? '')
    const isFailing = pathname === github.fails
    response.writeHead(isFailing ? 503 : body === null ? 404 : 200, {
      'content-type': 'application/json; charset=utf-8',
    })
    response.end(JSON.stringify(body ?? { message: 'Not Found' }))
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  const github: ScriptedGithub = Object.assign(state, {
    url,
    apiUrl: `${url}/api`,
    authorize({ origin, pathname, searchParams }: URL): string {
      if (origin !== url || pathname !== '/login/oauth/authorize') throw new Error('another page')
      if (searchParams.get('code_challenge_method') !== 'S256') throw new Error('no PKCE')
      const code = randomUUID().slice(0, 20)
      grants.set(code, {
        challenge: searchParams.get('code_challenge') ?? '',
        redirectUri: searchParams.get('redirect_uri') ?? '',
        clientId: searchParams.get('client_id') ?? '',
      })
      return new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString()
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  return github
}
