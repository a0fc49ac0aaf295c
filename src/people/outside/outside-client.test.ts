import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listen } from '../../vocabulary/testing/listen.ts'
import { type OidcSettings, openOidc } from './outside-client.ts'

const OWN = generateKeyPairSync('rsa', { modulusLength: 2048 })
const FOREIGN = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** The deviations of the provider from a correct answer. */
interface Script {
  readonly claims?: object
  readonly header?: object
  /** Null: it has no signature. `secret`: the secret of the client. */
  readonly signedBy?: KeyObject | 'secret' | null
  /** Takes over the answer of a path. */
  readonly answers?: Readonly<Record<string, (response: ServerResponse) => void>>
}

let server: Server
let issuer: string
let script: Script
let asked: string[]

beforeEach(async () => {
  script = {}
  asked = []
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', issuer)
    asked.push(pathname)
    const scripted = script.answers?.[pathname]
    if (scripted !== undefined) scripted(response)
    else json(response, usual(pathname))
  })
  const port = await listen(server)
  issuer = `http://127.0.0.1:${port}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function usual(path: string): object {
  if (path === '/jwks') {
    return { keys: [{ ...OWN.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'RS256' }] }
  }
  if (path === '/token') {
    return { access_token: 'access', token_type: 'Bearer', id_token: idToken() }
  }
  if (path === '/userinfo') return { sub: 'ada', email: 'eve@example.org', email_verified: true }
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

const ADA = { sub: 'ada', email: 'Ada@Example.org', email_verified: true, name: 'Ada\u202e\n L.' }
const SECRETS = { state: 'the-state', nonce: 'the-nonce', codeVerifier: 'v'.repeat(64) }
const RETURN = { ...SECRETS, redirectUri: 'https://gate.example.com/app/sign-in-return/oidc' }
const QUERY = 'code=a-code&state=the-state'

function idToken(): string {
  const seconds = Math.floor(Date.now() / 1_000)
  const right = { iss: issuer, aud: 'gate', iat: seconds, exp: seconds + 60, nonce: 'the-nonce' }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const { claims = ADA, header = {}, signedBy = OWN.privateKey } = script
  const signed = `${encode({ alg: 'RS256', kid: 'own', ...header })}.${encode({ ...right, ...claims })}`
  if (signedBy === null) return `${signed}.`
  const signature =
    signedBy === 'secret'
      ? createHmac('sha256', 'secret').update(signed).digest()
      : sign('sha256', Buffer.from(signed), signedBy)
  return `${signed}.${signature.toString('base64url')}`
}

const open = (settings: Partial<OidcSettings> = {}) =>
  openOidc({
    issuer,
    clientId: 'gate',
    clientSecret: 'secret',
    clientAuth: 'post',
    asksWhichAccount: false,
    timeoutMs: 60_000,
    ...settings,
  })

const come = (query = QUERY) => open().identityOf({ ...RETURN, query })

/** The code of the library's error. */
const refusal = (identity: Promise<unknown>) =>
  identity.then(
    () => 'taken',
    (error: unknown) => String(Object(error).code),
  )

test('an identity consists of the issuer, the subject and the verified address in lower case', async () => {
  expect(await come()).toEqual({
    issuer,
    subject: 'ada',
    verifiedEmail: 'ada@example.org',
    name: 'Ada L.',
  })
  expect(asked).not.toContain('/userinfo')
})

test.each([
  ['another audience', { claims: { ...ADA, aud: 'another-client' } }],
  ['another issuer', { claims: { ...ADA, iss: 'https://evil.example' } }],
  ['another nonce', { claims: { ...ADA, nonce: 'of-another' } }],
  ['no nonce', { claims: { ...ADA, nonce: undefined } }],
  ['no subject', { claims: { email: ADA.email, email_verified: true } }],
  ['an end long ago', { claims: { ...ADA, exp: 1_000_000_000 } }],
  ['a signature of another key', { signedBy: FOREIGN.privateKey }],
  ['a key that the provider does not have', { header: { kid: 'foreign' } }],
  ['no signature', { header: { alg: 'none' }, signedBy: null }],
  ['a signature by the secret', { header: { alg: 'HS256' }, signedBy: 'secret' as const }],
])('a token with %s is refused', async (_words, forged) => {
  script = forged
  expect(await refusal(come())).toMatch(/^OAUTH_/)
})

test.each([
  'code=a-code&state=another',
  'code=a-code',
  'code=a-code&state=the-state&state=the-state',
  'code=a-code&state=the-state&iss=https://evil.example',
  'error=access_denied&state=the-state',
  'state=the-state',
])('a return with %s is refused before the code is sent to the provider', async (query) => {
  expect(await refusal(come(query))).toMatch(/^OAUTH_/)
  expect(asked).not.toContain('/token')
})

test.each([
  ['false', { email_verified: false }],
  ['absent', { email_verified: undefined }],
  ['a text', { email_verified: 'true' }],
  ['of two addresses', { email: 'a@example.org,b@example.org' }],
  ['of letters that look like others', { email: 'a\u0431a@example.org' }],
  ['of a quoted address', { email: '"ada@example.org"@evil.example' }],
  ['of no address', { email: 42 }],
])('an address whose verification is %s counts as unproved', async (_words, claims) => {
  script = { claims: { ...ADA, ...claims } }
  expect(await come()).toMatchObject({ subject: 'ada', verifiedEmail: null })
})

test('an address that the token lacks is requested, and accepted only for the same person', async () => {
  script = { claims: { sub: 'ada' } }
  expect(await come()).toMatchObject({ verifiedEmail: 'eve@example.org' })
  script = { claims: { sub: 'another' } }
  expect(await refusal(come())).toMatch(/^OAUTH_/)
})

test.each(['/.well-known/openid-configuration', '/token', '/jwks'])(
  'a call of %s that the provider never answers ends with a time-out',
  async (path) => {
    script = { answers: { [path]: () => undefined } }
    const client = open({ timeoutMs: 200 })
    expect(await refusal(client.identityOf({ ...RETURN, query: QUERY }))).toBe('OAUTH_TIMEOUT')
  },
)

test('an endless answer and a redirect are not followed', async () => {
  script = {
    answers: {
      '/token': (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = (): void => {
          while (response.write(Buffer.alloc(64 * 1024, 0x20)));
          response.once('drain', more)
        }
        more()
      },
    },
  }
  await expect(come()).rejects.toThrow()
  script = {
    answers: { '/token': (response) => response.writeHead(302, { location: '/elsewhere' }).end() },
  }
  expect(await refusal(come())).toBe('OAUTH_RESPONSE_IS_NOT_CONFORM')
  expect(asked).not.toContain('/elsewhere')
})

test('a provider whose published issuer differs from the settings is refused', async () => {
  script = {
    answers: {
      '/.well-known/openid-configuration': (response) =>
        json(response, { ...usual('/'), issuer: 'https://evil.example' }),
    },
  }
  expect(await refusal(open().signInUrl(RETURN))).toMatch(/^OAUTH_/)
})

test('the settings of a provider that was down are requested again, and then kept', async () => {
  const client = open()
  script = {
    answers: { '/.well-known/openid-configuration': (response) => response.writeHead(503).end() },
  }
  expect(await refusal(client.signInUrl(RETURN))).toBe('OAUTH_RESPONSE_IS_NOT_CONFORM')
  script = {}
  const url = await client.signInUrl(RETURN)
  await client.signInUrl(RETURN)
  expect(asked).toHaveLength(2)
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    client_id: 'gate',
    redirect_uri: RETURN.redirectUri,
    nonce: 'the-nonce',
    state: 'the-state',
  })
})
