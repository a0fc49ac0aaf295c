import { beforeEach, describe, expect, test } from 'vitest'
import { startGithub } from '../../src/people/testing/scripted-github.ts'
import { CLIENT, startProvider } from './oidc-provider.ts'
import {
  begin,
  finish,
  NOT_INVITED,
  ORIGIN,
  outsideWorld,
  REFUSED,
  VERIFIED_ADA,
} from './outside-browser.ts'
import { ADA, Browser, errorOf, setUpOperator } from './page-client.ts'

const { world, newBrowser, outside } = outsideWorld()

describe('a provider that is away', () => {
  const AWAY = { httpStatus: 502, code: 'sign_in_unavailable', param: null }

  test('is named in the error, before and after the redirect, and is asked again later', async () => {
    await setUpOperator(world, ORIGIN)
    outside.provider.person = VERIFIED_ADA
    const browser = newBrowser()
    const query = await begin(browser)
    await outside.provider.close()
    const answer = await finish(browser, query)
    expect(errorOf(answer)).toEqual(AWAY)
    expect(answer.text).toContain('Example ID does not answer.')
    await world.reopen()
    expect(errorOf(await newBrowser().post('auth/outside/begin', { provider: 'oidc' }))).toEqual(
      AWAY,
    )
    expect((await newBrowser().post('auth/sign-in', ADA)).httpStatus).toBe(401)
    outside.provider = await startProvider()
  })

  test('does not prevent the gateway from starting, and keeps its button', async () => {
    const { json } = await newBrowser().get('start')
    expect(json).toMatchObject({ providers: [{ id: 'oidc', name: 'Example ID' }] })
  })
})

describe('sign-ins with a wrong answer of a provider', () => {
  const address = '203.0.113.99'
  const WRONG_MAX = 5

  beforeEach(() => world.reopen({ TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: String(WRONG_MAX) }))

  /** Begins a sign-in that no person goes on with. Resolves with how a stranger ends it. */
  async function beginWrong() {
    const browser = new Browser(world, { ...ORIGIN, address })
    const { json } = await browser.post('auth/outside/begin', { provider: 'oidc' })
    const state = new URL(String(json['url'])).searchParams.get('state') ?? ''
    const query = new URLSearchParams({ code: 'wrong', state, iss: outside.provider.issuer })
    return () => finish(browser, query.toString())
  }

  test('that come at once from one network make as many calls to the provider as it may be wrong in a minute', async () => {
    const answers = Promise.withResolvers<void>()
    outside.provider.held = answers.promise
    const ends = []
    for (let number = 0; number < WRONG_MAX + 3; number++) ends.push(await beginWrong())
    const httpStatuses: number[] = []
    const ended = ends.map(async (end) => httpStatuses.push((await end()).httpStatus))
    await expect.poll(() => outside.provider.tokenCalls + httpStatuses.length).toBe(ends.length)
    expect([outside.provider.tokenCalls, httpStatuses]).toEqual([WRONG_MAX, [429, 429, 429]])
    answers.resolve()
    await Promise.all(ended)
    expect(httpStatuses.slice(3)).toEqual(Array(WRONG_MAX).fill(403))
  })

  test('count also while the provider refuses to answer', async () => {
    const ends = []
    for (let number = 0; number < WRONG_MAX + 1; number++) ends.push(await beginWrong())
    outside.provider.isBusy = true
    const httpStatuses = []
    for (const end of ends) httpStatuses.push((await end()).httpStatus)
    expect(httpStatuses).toEqual([...Array(WRONG_MAX).fill(502), 429])
    expect(outside.provider.tokenCalls).toBe(WRONG_MAX)
  })
})

test('Google is a provider of OpenID Connect with its own button', async () => {
  await world.reopen({
    GOOGLE_ISSUER: outside.provider.issuer,
    GOOGLE_CLIENT_ID: CLIENT.id,
    GOOGLE_CLIENT_SECRET: CLIENT.secret,
  })
  await setUpOperator(world, ORIGIN)
  outside.provider.person = VERIFIED_ADA
  const browser = newBrowser()
  expect((await browser.get('start')).json).toMatchObject({
    providers: [{ id: 'oidc' }, { id: 'google', name: 'Google' }],
  })
  const begun = await browser.post('auth/outside/begin', { provider: 'google' })
  expect(new URL(String(begun.json['url'])).searchParams.get('prompt')).toBe('select_account')
  const query = await begin(browser, { name: 'google' })
  // An answer of one provider is not accepted as another's.
  expect(errorOf(await finish(browser, query, 'oidc'))).toEqual(REFUSED)
  expect((await finish(browser, query, 'google')).httpStatus).toBe(200)
})

test('a person from GitHub joins with the primary verified address, and other addresses prove nothing', async () => {
  const github = await startGithub()
  await world.reopen({
    GITHUB_URL: github.url,
    GITHUB_API_URL: github.apiUrl,
    GITHUB_CLIENT_ID: 'gate',
    GITHUB_CLIENT_SECRET: 'secret',
  })
  await setUpOperator(world, ORIGIN)
  const come = async () => {
    const browser = newBrowser()
    const { json } = await browser.post('auth/outside/begin', { provider: 'github' })
    return finish(browser, github.authorize(new URL(String(json['url']))), 'github')
  }
  expect((await come()).json).toMatchObject({ user: { email: ADA.email } })
  github.person = { id: 42, login: 'eve', name: 'Eve' }
  github.emails = [{ email: ADA.email, primary: false, verified: true }]
  expect(errorOf(await come())).toEqual(NOT_INVITED)
  github.fails = '/api/user/emails'
  expect(errorOf(await come())).toMatchObject({ code: 'sign_in_unavailable' })
  await github.close()
  const away = await come()
  expect(errorOf(away)).toMatchObject({ code: 'sign_in_unavailable' })
  expect(away.text).toContain('GitHub does not answer.')
})
