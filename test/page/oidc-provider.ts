import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type Adapter, type AdapterPayload, interactionPolicy, Provider } from 'oidc-provider'
import { listen } from '../../src/vocabulary/testing/listen.ts'

/** A person at a provider. */
interface OutsidePerson {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

/** A real provider of OpenID Connect on its own port. */
export interface TestProvider {
  readonly issuer: string
  /** The person who signs in there next. */
  person: OutsidePerson
  /** While true, people refuse to sign in. */
  refuses: boolean
  /** While true, it answers the gateway that there are too many calls. */
  isBusy: boolean
  /** Resolves when the gateway's calls for tokens may be answered. */
  held: Promise<void>
  /** The gateway's calls for tokens so far. */
  readonly tokenCalls: number
  /** Lets browsers come back to this origin of a gateway. */
  allow(origin: string): void
  close(): Promise<void>
}

/** The gateway's client ID and secret at the provider. */
export const CLIENT = { id: 'gate', secret: 'the-secret-of-the-gate' } as const

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })

/** The provider's storage, in memory. */
class Kept implements Adapter {
  static readonly #rows = new Map<string, AdapterPayload>()
  readonly #model: string

  constructor(model: string) {
    this.#model = model
  }

  async upsert(id: string, row: AdapterPayload): Promise<void> {
    Kept.#rows.set(`${this.#model} ${id}`, row)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return Kept.#rows.get(`${this.#model} ${id}`)
  }

  async findByUserCode(): Promise<undefined> {}

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...Kept.#rows.values()].find((row) => row.uid === uid)
  }

  async consume(id: string): Promise<void> {
    const row = await this.find(id)
    if (row !== undefined) row.consumed = Math.floor(Date.now() / 1_000)
  }

  async destroy(id: string): Promise<void> {
    Kept.#rows.delete(`${this.#model} ${id}`)
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, row] of Kept.#rows) if (row.grantId === grantId) Kept.#rows.delete(key)
  }
}

export async function startProvider(): Promise<TestProvider> {
  let serve: Provider | null = null
  const state = {
    person: { sub: 'stranger' } as OutsidePerson,
    refuses: false,
    isBusy: false,
    held: Promise.resolve(),
    tokenCalls: 0,
  }
  const redirectUris: string[] = []
  const policy = interactionPolicy.base()
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0)
  const server = createServer(async (request, response) => {
    if (serve === null) return
    if (request.url === '/token') {
      state.tokenCalls++
      await state.held
    }
    if (state.isBusy) response.writeHead(429).end()
    else if (request.url?.startsWith('/interaction/')) {
      const result = state.refuses
        ? { error: 'access_denied' }
        : { login: { accountId: state.person.sub }, select_account: {} }
      void serve.interactionFinished(request, response, result)
    } else serve.callback()(request, response)
  })
  const port = await listen(server)
  const issuer = `http://127.0.0.1:${port}`
  const open = (): Provider =>
    new Provider(issuer, {
      adapter: Kept,
      jwks: { keys: [{ ...KEY, kid: 'of-tests', alg: 'RS256', use: 'sig' }] },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [...redirectUris],
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { policy, url: (_context, { uid }) => `/interaction/${uid}` },
      cookies: { keys: ['for tests alone'] },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: async () => ({ ...state.person, sub }),
      }),
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })
  return Object.assign(state, {
    issuer,
    allow(origin: string) {
      redirectUris.push(`${origin}/app/sign-in-return/oidc`, `${origin}/app/sign-in-return/google`)
      serve = open()
    },
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

/** Goes through a provider's pages as a browser does, with a new session there. Resolves with the query that leads back. */
export async function comeBack(url: string): Promise<string> {
  const cookies = new Map<string, string>()
  let next = url
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const set of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${answer.status}: ${await answer.text()}`)
    const target = new URL(location, next)
    if (target.pathname.startsWith('/app/')) return target.search.slice(1)
    next = target.href
  }
  throw new Error('the provider leads nowhere')
}
