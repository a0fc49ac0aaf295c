import { METHODS, request } from 'node:http'
import { beforeAll, describe, expect, test } from 'vitest'
import { Browser, setUpOperator } from '../page/page-client.ts'
import { worldOfFile } from '../world.ts'

/** Answers to methods that a path lacks, and their caching. */

let bearer: string
const ADMIN = 'admin-token-of-the-test'

const world = worldOfFile({ settings: { ADMIN_API_TOKEN: ADMIN } })
beforeAll(async () => {
  bearer = (await world.account()).apiKey
})

interface Answer {
  readonly httpStatus: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** `fetch` refuses some methods before it sends them. */
function send(method: string, path: string, headers = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(world.url(path), { method, headers }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      answer.on('end', () =>
        resolve({ httpStatus: answer.statusCode, headers: answer.headers, text }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

// A CONNECT has no path.
const ALL = METHODS.filter((method) => method !== 'CONNECT')

describe('every method that a path lacks is 404 with the methods that it has', () => {
  test.each([
    ['/v1/models', 'GET, HEAD'],
    ['/v1/models/sim/text', 'GET, HEAD'],
    ['/v1/models/none', 'GET, HEAD'],
    ['/v1/chat/completions', 'POST'],
    ['/v1/key', 'GET, HEAD'],
    ['/healthz', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/v1/credit/codes/redeem', null],
    ['/nothing', null],
  ])('%s: %s', async (path, allow) => {
    for (const method of ALL.filter((each) => !(allow ?? '').split(', ').includes(each))) {
      const { httpStatus, headers, text } = await send(method, path)
      expect([method, httpStatus, headers['allow']]).toEqual([method, 404, allow ?? undefined])
      if (method === 'HEAD') continue
      const why =
        allow === null
          ? '/docs lists the endpoints.'
          : `the path takes ${allow.replace(', ', ' or ')}.`
      expect(text).toContain(`${method} ${path} does not exist: ${why}`)
    }
  })

  test('below /v1/admin only with the token', async () => {
    const path = '/v1/admin/accounts/acct_1'
    const stranger = await send('QUERY', path)
    expect([stranger.httpStatus, stranger.headers['allow']]).toEqual([401, undefined])
    const admin = await send('QUERY', path, { authorization: `Bearer ${ADMIN}` })
    expect([admin.httpStatus, admin.headers['allow']]).toEqual([404, 'GET, HEAD, PATCH'])
  })

  test('of the page, and of its operator paths only with the rights', async () => {
    await setUpOperator(world)
    const stranger = await new Browser(world).call('PATCH', 'operator/accounts')
    expect([stranger.httpStatus, stranger.headers.get('allow')]).toEqual([401, null])
    const start = await new Browser(world).call('PATCH', 'start')
    expect([start.httpStatus, start.headers.get('allow')]).toEqual([404, 'GET, HEAD'])
  })
})

test('an invalid content-type is ignored, like every other one', async () => {
  const headers = { authorization: `Bearer ${ADMIN}`, 'content-type': ';' }
  expect((await send('POST', '/nothing', headers)).httpStatus).toBe(404)
  // Its body is empty.
  expect((await send('POST', '/v1/admin/accounts', headers)).httpStatus).toBe(400)
})

test.each([
  '/v1/key',
  '/v1/balance',
  '/v1/requests',
  '/v1/requests/none',
  '/v1/usage',
  '/v1/admin/accounts',
  '/v1/admin/nothing',
])('caches do not store the answers to %s, including errors', async (path) => {
  const isAdminPath = path.startsWith('/v1/admin')
  for (const token of [isAdminPath ? ADMIN : bearer, 'wrong']) {
    const { headers } = await send('GET', path, { authorization: `Bearer ${token}` })
    expect(headers['cache-control']).toBe('no-store')
  }
})
