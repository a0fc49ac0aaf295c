import { beforeAll, describe, expect, test } from 'vitest'
import { startWorld, type World, worldOfFile } from '../world.ts'
import { ADA, Browser, errorOf, setUpOperator } from './page-client.ts'

let operator: Browser

const world = worldOfFile()
beforeAll(async () => {
  operator = await setUpOperator(world)
})

describe('a call that changes something', () => {
  test.each([
    ['another site', { origin: 'https://evil.example' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin', { origin: 'null' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a form that pretends to have text', { 'content-type': 'text/plain; application/json' }],
  ])('is 403 from %s', async (_, headers) => {
    for (const path of ['auth/sign-out', 'auth/sign-in', 'setup', 'auth/reset']) {
      const answer = await operator.call('POST', path, { body: ADA, headers })
      expect(errorOf(answer)).toEqual({ httpStatus: 403, code: 'foreign_origin', param: null })
    }
    expect((await operator.get('me')).httpStatus).toBe(200)
  })

  test('is 403 without an Origin', async () => {
    const answer = await fetch(world.url('/app/api/auth/sign-in'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ADA),
    })
    expect(answer.status).toBe(403)
  })
})

test('each answer is private, is not cached, and lets the browser load nothing', async () => {
  for (const answer of [
    await operator.get('me'),
    await new Browser(world).get('me'),
    await operator.get('nothing/here'),
    await operator.call('POST', 'auth/sign-in', { headers: { origin: 'https://evil.example' } }),
  ]) {
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-request-id': expect.stringMatching(/^req_/),
    })
  }
})

test('an answer that a browser already has is not sent again', async () => {
  const first = await operator.get('me')
  const etag = first.headers.get('etag') ?? ''
  const again = await operator.get('me', { 'if-none-match': etag })
  expect([again.httpStatus, again.text]).toEqual([304, ''])
})

describe('hostile input', () => {
  test.each([
    ['no JSON', '{', 400, 'invalid_json'],
    ['a list', '[]', 400, 'invalid_json'],
    ['a body without end', JSON.stringify({ email: 'x'.repeat(70_000) }), 413, 'request_too_large'],
    ['another type', '{"email":1,"password":{}}', 400, 'invalid_parameter'],
    [
      'unknown fields',
      '{"email":"a@b.cd","password":"x","__proto__":{}}',
      400,
      'invalid_parameter',
    ],
    [
      'a long password',
      JSON.stringify({ ...ADA, password: 'x'.repeat(5_000) }),
      400,
      'invalid_parameter',
    ],
    ['a zero byte', '{"email":"a\\u0000@b.cd","password":"x"}', 400, 'invalid_parameter'],
  ])('%s is refused with an error envelope', async (_, body, httpStatus, code) => {
    const answer = await new Browser(world).call('POST', 'auth/sign-in', { body })
    expect(errorOf(answer)).toMatchObject({ httpStatus, code })
    expect(answer.text).not.toContain('.ts:')
  })

  test.each([
    'tollgate_session',
    'x'.repeat(40),
    '%00%00%00%00%00%00%00%00',
    `${'y'.repeat(32)}; a=b`,
  ])('the cookie %j is not accepted as a session', async (value) => {
    const { port } = new URL(world.gateway.address)
    const browser = new Browser(world)
    browser.cookies.set(`tollgate_session_${port}`, value)
    expect(errorOf(await browser.get('me'))).toMatchObject({ code: 'not_signed_in' })
  })

  test('a path that does not exist is 404 in JSON, with a session or without', async () => {
    for (const browser of [operator, new Browser(world)]) {
      for (const path of ['', 'nothing', '../../v1/admin/accounts', 'accounts']) {
        expect(errorOf(await browser.get(path))).toMatchObject({
          httpStatus: 404,
          code: 'not_found',
        })
      }
    }
  })

  test('an address that guesses sessions or links is refused for a minute, and its sessions are not', async () => {
    const guesser = new Browser(world)
    const { port } = new URL(world.gateway.address)
    guesser.cookies.set(`tollgate_session_${port}`, 'a'.repeat(32))
    let last = await guesser.get('me')
    for (let i = 0; i < 120 && last.httpStatus === 401; i++) last = await guesser.get('me')
    expect(errorOf(last)).toMatchObject({ httpStatus: 429, code: 'rate_limited' })
    const link = { token: 'guess', password: 'another horse battery' }
    expect((await new Browser(world).post('auth/reset', link)).httpStatus).toBe(429)
    expect((await operator.get('me')).httpStatus).toBe(200)
  })
})

describe('the bare address', () => {
  async function redirectOf(target: World, accept: string): Promise<string | null> {
    const answer = await fetch(target.url('/'), { redirect: 'manual', headers: { accept } })
    return answer.headers.get('location')
  }

  test('leads browsers to the page, and others to the reference', async () => {
    expect(await redirectOf(world, 'text/html,application/xhtml+xml,*/*;q=0.8')).toBe('/app')
    expect(await redirectOf(world, '*/*')).toBe('/docs')
    expect(await redirectOf(world, 'application/json')).toBe('/docs')
  })

  test('leads browsers to the reference if the page is off, and no path exists below /app', async () => {
    const without = await startWorld({ settings: { TOLLGATE_PAGE: 'off' } })
    expect(await redirectOf(without, 'text/html')).toBe('/docs')
    for (const path of ['/app', '/app/api/start']) {
      expect((await fetch(without.url(path))).status).toBe(404)
    }
    await without.close()
  })
})

test('an API key and the admin token do not open the page, and a session opens only the page', async () => {
  const settings = { ADMIN_API_TOKEN: 'admin-token-of-the-test' }
  const other = await startWorld({ settings })
  const { apiKey, id } = await other.account()
  const browser = await setUpOperator(other)
  const [[name, value] = []] = browser.cookies
  const get = (path: string, headers: Readonly<Record<string, string>>) =>
    fetch(other.url(path), { headers }).then(({ status }) => status)
  for (const bearer of [apiKey, 'admin-token-of-the-test']) {
    const authorization = `Bearer ${bearer}`
    expect(await get('/app/api/me', { authorization })).toBe(401)
    expect(await get(`/app/api/accounts/${id}/keys`, { authorization })).toBe(401)
  }
  const cookie = `${name}=${value}`
  expect(await get('/v1/key', { cookie })).toBe(401)
  expect(await get('/v1/admin/accounts', { cookie })).toBe(401)
  await other.close()
})
