import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { type ScriptedGithub, startGithub } from '../../src/people/testing/scripted-github.ts'
import { CLIENT, startProvider, type TestProvider } from '../page/oidc-provider.ts'
import { tollgate } from '../tollgate-process.ts'
import { expectGoodPage } from './chromium.ts'
import { PASSWORD, type PageGateway, servePage, setUp } from './on-gateway.ts'
import { test as inBrowser } from './page-test.ts'

/** Sign-in at real providers of OpenID Connect, one of them as Google, and at GitHub. */

interface Outside {
  readonly gateway: PageGateway
  readonly provider: TestProvider
  readonly google: TestProvider
  readonly github: ScriptedGithub
}

const test = inBrowser
  .extend(
    'outside',
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
    async ({}, { onCleanup }): Promise<Outside> => {
      const provider = await startProvider()
      const google = await startProvider()
      const github = await startGithub()
      const env = {
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: CLIENT.id,
        OIDC_CLIENT_SECRET: CLIENT.secret,
        OIDC_NAME: 'Example ID',
        GOOGLE_ISSUER: google.issuer,
        GOOGLE_CLIENT_ID: CLIENT.id,
        GOOGLE_CLIENT_SECRET: CLIENT.secret,
        GITHUB_URL: github.url,
        GITHUB_API_URL: github.apiUrl,
        GITHUB_CLIENT_ID: 'gate',
        GITHUB_CLIENT_SECRET: 'secret',
      }
      const ends: (() => Promise<void>)[] = []
      const gateway = await servePage(env, (end) => ends.push(end))
      onCleanup(async () => {
        for (const end of ends) await end()
        for (const each of [provider, google, github]) await each.close()
      })
      return { gateway, provider, google, github }
    },
  )
  /** A page of a person who has set the gateway up, and whose session is gone. */
  .extend('door', async ({ newPage, outside }): Promise<Page> => {
    const page = await newPage({ width: 'phone' })
    await setUp(page, outside.gateway)
    for (const each of [outside.provider, outside.google]) each.allow(new URL(page.url()).origin)
    await page.context().clearCookies()
    return page
  })

const ADA = { sub: 'ada', email: 'ada@example.org', email_verified: true }

test('a button leads through the provider, and back to the page that was asked for', async ({
  door,
  outside,
}) => {
  outside.provider.person = ADA
  const wanted = door.url().replace(/overview.*$/, 'keys')
  await door.goto(wanted)
  await door.getByRole('button', { name: 'Continue with Example ID' }).waitFor()
  await expectGoodPage(door)
  await door.getByRole('button', { name: 'Continue with Example ID' }).click()
  await door.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  await door.waitForURL(wanted)
  await door.goBack()
  expect(door.url()).not.toContain('code=')
  // The proof of the address ended the password. There is no email by which this only operator could choose another one.
  await door.goto(new URL('/app/profile', wanted).href)
  await door.getByText('You have no password.').waitFor()
  await door.getByText('On the server, tollgate user reset makes one.').waitFor()
})

test('a person without an invitation is informed, and joins by the link of an invitation', async ({
  door,
  outside,
}) => {
  const { provider, gateway } = outside
  const origin = new URL(door.url()).origin
  provider.person = { sub: 'eve', email: 'eve@example.org', name: 'Eve' }
  await door.goto(`${origin}/app/sign-in`)
  await door.getByRole('button', { name: 'Continue with Example ID' }).click()
  await door.getByText('This provider does not say that your email address is verified.').waitFor()
  await door.waitForURL(`${origin}/app/sign-in-return/oidc`)
  await expectGoodPage(door)
  await door.getByRole('link', { name: 'Back to the sign-in' }).click()
  provider.refuses = true
  await door.context().clearCookies()
  await door.getByRole('button', { name: 'Continue with Example ID' }).click()
  await door.getByText('Sign-in failed.').waitFor()
  provider.refuses = false
  const invited = await tollgate(['user', 'invite', 'eve@example.org', '--operator'], {
    folder: gateway.folder,
  })
  const [, token = ''] = /\/app\/invite#(\S+)/.exec(invited.out) ?? []
  await door.goto(`${origin}/app/invite#${token}`)
  await door.getByRole('button', { name: 'Continue with Example ID' }).waitFor()
  await expectGoodPage(door)
  await door.getByRole('button', { name: 'Continue with Example ID' }).click()
  await door.getByRole('heading', { name: 'Home' }).waitFor()
})

test('each provider signs in people with a verified address, and no one with an unverified one', async ({
  door,
  outside: { provider, google, github },
}) => {
  const unverified = { ...ADA, sub: 'mallory', email_verified: false }
  const email = { email: ADA.email, primary: true, verified: false }
  const ways = [
    {
      name: 'Example ID',
      claim() {
        provider.person = unverified
      },
      prove() {
        provider.person = ADA
      },
    },
    {
      name: 'Google',
      claim() {
        google.person = unverified
      },
      prove() {
        google.person = ADA
      },
    },
    {
      name: 'GitHub',
      claim() {
        github.emails = [email]
      },
      prove() {
        github.emails = [{ ...email, verified: true }]
      },
    },
  ]
  const signIn = new URL('/app/sign-in', door.url()).href
  for (const { name, claim, prove } of ways) {
    await door.context().clearCookies()
    claim()
    await door.goto(signIn)
    await door.getByRole('button', { name: `Continue with ${name}` }).click()
    await door
      .getByText('This provider does not say that your email address is verified.')
      .waitFor()
    await door.context().clearCookies()
    prove()
    await door.goto(signIn)
    await door.getByRole('button', { name: `Continue with ${name}` }).click()
    await door.getByText('No requests yet').waitFor()
  }
})

test('a provider that is down is named, and the password still signs in', async ({
  door,
  outside: { google, github },
}) => {
  await door.goto(new URL('/app/sign-in', door.url()).href)
  await google.close()
  await door.getByRole('button', { name: 'Continue with Google' }).click()
  await door.getByText('Google does not answer.').waitFor()
  github.fails = '/api/user'
  await door.getByRole('button', { name: 'Continue with GitHub' }).click()
  await door.getByText('GitHub does not answer.').waitFor()
  await expectGoodPage(door)
  await door.getByRole('link', { name: 'Back to the sign-in' }).click()
  await door.getByLabel('Email').fill(ADA.email)
  await door.getByLabel('Password').fill(PASSWORD)
  await door.getByRole('button', { name: 'Sign in', exact: true }).click()
  await door.getByText('No requests yet').waitFor()
})

test('a button that is pressed twice begins one sign-in', async ({
  door,
  outside: { provider },
}) => {
  provider.person = ADA
  await door.goto(new URL('/app/sign-in', door.url()).href)
  const begun: string[] = []
  door.on('request', (request) => {
    if (request.method() === 'POST') begun.push(new URL(request.url()).pathname)
  })
  const button = door.getByRole('button', { name: 'Continue with Example ID' })
  await button.waitFor()
  await button.evaluate((element: HTMLElement) => {
    element.click()
    element.click()
  })
  await door.getByText('No requests yet').waitFor()
  expect(begun.filter((path) => path.endsWith('/begin'))).toHaveLength(1)
})
