import { type Dispatcher, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorld, type World } from '../world.ts'
import { ADMIN_TOKEN, errorOf, Management, refusal } from './management.ts'

let admin: Management
let without: World

beforeAll(async () => {
  admin = await Management.start()
  without = await startWorld()
})
afterAll(async () => {
  await admin.close()
  await without.close()
})

const PLACES: readonly (readonly [Dispatcher.HttpMethod, string])[] = [
  ['GET', '/v1/admin'],
  ['GET', '/v1/admin/'],
  ['GET', '/v1/admin/accounts'],
  ['POST', '/v1/admin/accounts'],
  ['PATCH', '/v1/admin/accounts/acct_1'],
  ['DELETE', '/v1/admin/keys/key_1'],
  ['PUT', '/v1/admin/maintenance'],
  ['GET', '/v1/%61dmin/accounts'],
  ['GET', '/v1/admin/nothing/is/here'],
  ['OPTIONS', '/v1/admin/accounts'],
  ['GET', `/v1/admin/keys/${'x'.repeat(2_000)}`],
]

/** All that a client could tell answers apart by, but what differs between any two. */
async function seen(method: Dispatcher.HttpMethod, path: string, authorization?: string) {
  const answer = await request(without.url(path), {
    method,
    headers: authorization === undefined ? {} : { authorization },
  })
  const { date, 'content-length': _length, ...headers } = answer.headers
  expect(headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/)
  const text = await answer.body.text()
  // The message repeats the sent method and path, even unknown ones.
  // Known paths below /v1/admin and others say alike that it is off, which the status says without a token too.
  const body = text
    .replace(/"message":"\S+ \S+ does not exist/, '"message":"… does not exist')
    .replace(
      'the admin API is off. The setting ADMIN_API_TOKEN turns it on.',
      '/docs lists the endpoints.',
    )
  return [answer.statusCode, { ...headers, 'x-request-id': '' }, body]
}

test.each(PLACES)(
  'without a token in the settings, %s %s is an unknown path',
  async (method, path) => {
    const unknown = await seen(method, '/v1/nothing')
    expect(unknown[0]).toBe(404)
    expect(await seen(method, path)).toEqual(unknown)
    expect(await seen(method, path, `Bearer ${ADMIN_TOKEN}`)).toEqual(unknown)
  },
)

test.each(PLACES)('%s %s checks the token before anything else', async (method, path) => {
  for (const token of [null, 'another', `${ADMIN_TOKEN}x`, ADMIN_TOKEN.slice(1), '']) {
    const answer = await admin.call({ method, path, token })
    expect(answer).toEqual(refusal(401, 'invalid_admin_token'))
    expect(answer.headers['content-type']).toBe('application/json')
  }
})

test('an API key is not accepted as an admin token, nor the admin token as an API key', async () => {
  const { apiKey } = await admin.world.account()
  expect((await admin.get('/v1/admin/accounts', apiKey)).httpStatus).toBe(401)
  expect(await admin.get('/v1/key')).toMatchObject({
    httpStatus: 401,
    json: errorOf('invalid_api_key'),
  })
  const inOther = await request(admin.world.url('/v1/admin/accounts'), {
    headers: { 'x-api-key': ADMIN_TOKEN },
  })
  await inOther.body.dump()
  expect(inOther.statusCode).toBe(401)
})

test('with the token, an unknown path is 404 for every method', async () => {
  for (const [method, path] of [
    ['GET', '/v1/admin'],
    ['GET', '/v1/admin/nothing'],
    ['PUT', '/v1/admin/accounts'],
    ['GET', '/v1/admin/catalog/refresh'],
    ['DELETE', '/v1/admin/accounts/acct_1'],
  ] as const) {
    expect(await admin.call({ method, path }), path).toEqual(refusal(404, 'not_found'))
  }
})

test('each call is logged with its caller and subject, without the token', async () => {
  const { headers } = await admin.get('/v1/admin/accounts?limit=1')
  const line = admin.world.log.find((text) => text.includes(String(headers['x-request-id'])))
  expect(JSON.parse(line ?? '')).toMatchObject({
    msg: 'admin',
    method: 'GET',
    path: '/v1/admin/accounts',
    httpStatus: 200,
  })
  expect(admin.world.log.join('')).not.toContain(ADMIN_TOKEN)
})
