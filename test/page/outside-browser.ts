import { afterEach, beforeEach, expect } from 'vitest'
import type { World } from '../world.ts'
import { CLIENT, comeBack, startProvider, type TestProvider } from './oidc-provider.ts'
import { Browser } from './page-client.ts'
import { pageWorld } from './page-world.ts'

/** The address at which browsers reach the page. */
export const ORIGIN = { origin: 'https://gate.example.com' }

/** Ada at a provider that has verified her address. */
export const VERIFIED_ADA = {
  sub: 'ada-at-oidc',
  email: 'Ada@Example.org',
  email_verified: true,
} as const

export const REFUSED = { httpStatus: 403, code: 'sign_in_refused', param: null }
export const NOT_INVITED = { httpStatus: 403, code: 'not_invited', param: null }

/** The settings of a gateway before a provider. */
export function settingsOf({ issuer }: TestProvider): Readonly<Record<string, string>> {
  return {
    TOLLGATE_PUBLIC_URL: ORIGIN.origin,
    TOLLGATE_TRUSTED_PROXIES: '127.0.0.1',
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    OIDC_NAME: 'Example ID',
  }
}

/** A gateway before a provider, a new one for each test. */
export function outsideWorld() {
  const outside = {} as { provider: TestProvider }
  beforeEach(async () => {
    outside.provider = await startProvider()
    outside.provider.allow(ORIGIN.origin)
  })
  afterEach(() => outside.provider.close())
  const world = pageWorld(() => settingsOf(outside.provider))
  return { world, newBrowser: () => browserOf(world), outside }
}

export const browserOf = (world: World) => new Browser(world, { ...ORIGIN, address: '203.0.113.7' })

/** Begins a sign-in and goes through the provider. The query that leads back. */
export async function begin(browser: Browser, { token = '', name = 'oidc' } = {}): Promise<string> {
  const { httpStatus, json } = await browser.post('auth/outside/begin', { provider: name, token })
  expect(httpStatus).toBe(200)
  return comeBack(String(json['url']))
}

export const finish = (browser: Browser, query: string, name = 'oidc') =>
  browser.post('auth/outside/finish', { provider: name, query })
