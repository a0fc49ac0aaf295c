import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedGithub, startGithub } from '../testing/scripted-github.ts'
import { openGithub } from './github-client.ts'

let github: ScriptedGithub

beforeEach(async () => {
  github = await startGithub()
})
afterEach(() => github.close())

const BEGUN = {
  state: 'the-state',
  nonce: 'unused',
  codeVerifier: 'v'.repeat(64),
  redirectUri: 'https://gate.example.com/app/sign-in-return/github',
}

const open = (timeoutMs = 60_000) =>
  openGithub({
    url: github.url,
    apiUrl: github.apiUrl,
    clientId: 'gate',
    clientSecret: 'secret',
    timeoutMs,
  })

/** Goes through the sign-in there, and back. */
async function come(timeoutMs?: number) {
  const client = open(timeoutMs)
  const query = github.authorize(await client.signInUrl(BEGUN))
  return client.identityOf({ ...BEGUN, query })
}

test('a person is identified by the GitHub user number, with the primary verified address', async () => {
  expect(await come()).toEqual({
    issuer: github.url,
    subject: '583231',
    verifiedEmail: 'ada@example.org',
    name: 'Ada Lovelace',
  })
})

test.each([
  ['is not verified', [{ email: 'ada@example.org', primary: true, verified: false }]],
  [
    'is not the primary one',
    [
      { email: 'ada@example.org', primary: false, verified: true },
      { email: 'other@example.org', primary: true, verified: false },
    ],
  ],
  ['is absent', []],
])('an address that %s proves nothing', async (_words, emails) => {
  github.emails = emails
  expect(await come()).toMatchObject({ subject: '583231', verifiedEmail: null })
})

test('a person without a name is called by the login', async () => {
  github.person = { id: 583_231, login: 'ada', name: null }
  expect(await come()).toMatchObject({ name: 'ada' })
})

test('the code is sent with its verifier and the return address, and works once', async () => {
  const client = open()
  const query = github.authorize(await client.signInUrl(BEGUN))
  const other = { ...BEGUN, codeVerifier: 'w'.repeat(64) }
  await expect(client.identityOf({ ...other, query })).rejects.toMatchObject({
    code: 'OAUTH_INVALID_RESPONSE',
  })
  const elsewhere = { ...BEGUN, redirectUri: 'https://evil.example/' }
  const second = github.authorize(await client.signInUrl(BEGUN))
  await expect(client.identityOf({ ...elsewhere, query: second })).rejects.toMatchObject({
    code: 'OAUTH_INVALID_RESPONSE',
  })
  const third = github.authorize(await client.signInUrl(BEGUN))
  await client.identityOf({ ...BEGUN, query: third })
  await expect(client.identityOf({ ...BEGUN, query: third })).rejects.toMatchObject({
    code: 'OAUTH_INVALID_RESPONSE',
  })
})

test('a call that is never answered ends with a time-out', async () => {
  github.hangs = '/api/user/emails'
  await expect(come(200)).rejects.toMatchObject({ code: 'OAUTH_TIMEOUT' })
})

test('an API that fails names the call', async () => {
  github.fails = '/api/user'
  await expect(come()).rejects.toThrow('/user was answered 503')
})
