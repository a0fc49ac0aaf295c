import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { outsideProvidersOf } from './page-settings.ts'

const OIDC = {
  OIDC_ISSUER: 'https://id.example.com/realms/main',
  OIDC_CLIENT_ID: 'gate',
  OIDC_CLIENT_SECRET: 'secret',
}
const GITHUB = { GITHUB_CLIENT_ID: 'gate', GITHUB_CLIENT_SECRET: 'secret' }
const GOOGLE = { GOOGLE_CLIENT_ID: 'gate', GOOGLE_CLIENT_SECRET: 'secret' }

const namesOf = (env: Readonly<Record<string, string>>) =>
  outsideProvidersOf(readConfig(env)).map(({ id, name }) => `${id}: ${name}`)

test('each provider that is set has a button, and a provider of no name its host', () => {
  expect(namesOf({})).toEqual([])
  expect(namesOf({ ...GITHUB, ...GOOGLE, ...OIDC })).toEqual([
    'oidc: id.example.com',
    'google: Google',
    'github: GitHub',
  ])
  expect(namesOf({ ...OIDC, OIDC_NAME: 'Example ID' })).toEqual(['oidc: Example ID'])
})

test.each([
  [
    { OIDC_ISSUER: 'https://id.example.com' },
    'OIDC_ISSUER is set without OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: set all three, or none',
  ],
  [
    { ...OIDC, OIDC_CLIENT_SECRET: '' },
    'OIDC_ISSUER and OIDC_CLIENT_ID are set without OIDC_CLIENT_SECRET: set all three, or none',
  ],
  [
    { GOOGLE_CLIENT_SECRET: 'secret' },
    'GOOGLE_CLIENT_SECRET is set without GOOGLE_CLIENT_ID: set both, or neither',
  ],
  [{ ...OIDC, OIDC_CLIENT_AUTH: 'jwt' }, 'OIDC_CLIENT_AUTH is "jwt": it must be post or basic'],
  [
    { ...OIDC, OIDC_CLIENT_SECRET: 'two words' },
    'OIDC_CLIENT_SECRET has characters that no secret has',
  ],
])('settings that are not whole end the start: %j', (env, fault) => {
  expect(() => readConfig(env)).toThrow(fault)
})

test.each([
  'id.example.com',
  'http://id.example.com',
  'https://user@id.example.com',
  'https://id.example.com/?tenant=a',
  'https://id.example.com/#a',
  'javascript:alert(1)',
])('an issuer must be an address with TLS, and no more than that: %s', (issuer) => {
  expect(() => readConfig({ ...OIDC, OIDC_ISSUER: issuer })).toThrow(
    /OIDC_ISSUER (?:is ".*": it )?must be an https address/,
  )
})

test('people can sign up only if they can prove an address', () => {
  const open = { TOLLGATE_SIGN_UP: 'open' }
  expect(() => readConfig(open)).toThrow('set SMTP_URL, or a sign-in provider')
  expect(() => readConfig({ TOLLGATE_SIGN_UP: 'yes' })).toThrow('must be invited or open')
  const mail = { SMTP_URL: 'smtp://127.0.0.1:25?tls=off', MAIL_FROM: 'gate@example.com' }
  for (const way of [mail, GITHUB, GOOGLE, OIDC]) {
    expect(readConfig({ ...open, ...way }).TOLLGATE_SIGN_UP).toBe('open')
  }
})
