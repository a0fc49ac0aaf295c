import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeApiKey } from '../src/ledger/api-keys.ts'
import { ROWS } from './contract/rows.ts'
import { standingClock, startWorld, worldOfFile } from './world.ts'

/** Clients that guess keys are refused by address; clients with a key are not. */

const MAX = 100
const ADMIN_TOKEN = 'a-token-for-tests-alone'

const clock = standingClock()

const world = worldOfFile({
  clock,
  settings: { ADMIN_API_TOKEN: ADMIN_TOKEN, TOLLGATE_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' },
})

interface Ask {
  readonly path: string
  readonly body?: object
  /** As a bearer; null: none. */
  readonly apiKey: string | null
  readonly forwardedFor: string
}

async function ask({ path, body, apiKey, forwardedFor }: Ask) {
  const answer = await request(world.url(path), {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-forwarded-for': forwardedFor,
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { statusCode: httpStatus, headers } = answer
  return { httpStatus, headers, json: JSON.parse(await answer.body.text()) }
}

const unknownKey = (): string => makeApiKey('tollgate').text

/** The statuses of this many requests, each with an unknown key. */
async function guess(forwardedFor: string, times = MAX): Promise<number[]> {
  const statuses: number[] = []
  for (let sent = 0; sent < times; sent++) {
    const answer = await ask({ path: '/v1/key', apiKey: unknownKey(), forwardedFor })
    statuses.push(answer.httpStatus)
  }
  return statuses
}

test('an address can send a hundred unknown keys in a minute, and is then refused', async () => {
  const statuses = await guess('192.0.2.1', MAX + 5)
  expect(statuses.slice(0, MAX)).toEqual(Array.from({ length: MAX }, () => 401))
  expect(statuses.slice(MAX)).toEqual(Array.from({ length: 5 }, () => 429))
})

describe('an address that is refused', () => {
  const forwardedFor = '192.0.2.2'
  beforeAll(() => guess(forwardedFor))

  test.each(ROWS)(
    'is answered 401 by $endpoint, in its own envelope',
    async ({ path, body, family }) => {
      for (const apiKey of [unknownKey(), 'no-key', null]) {
        const { httpStatus, headers, json } = await ask({ path, body, apiKey, forwardedFor })
        expect(httpStatus).toBe(429)
        expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
        expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
        const requestId = headers['x-request-id']
        expect(json).toEqual(
          family === 'messages'
            ? {
                type: 'error',
                error: { type: 'rate_limit_error', message: expect.any(String) },
                request_id: requestId,
              }
            : {
                error: {
                  message: expect.any(String),
                  type: 'rate_limit_error',
                  code: 'rate_limited',
                  param: null,
                },
              },
        )
      }
    },
  )

  test.each(['/v1/key', '/v1/balance', '/v1/credit/purchases', '/v1/admin/accounts', '/v1/admin'])(
    'is answered 401 by GET %s',
    async (path) => {
      const { httpStatus, headers, json } = await ask({ path, apiKey: unknownKey(), forwardedFor })
      expect([httpStatus, json.error.code]).toEqual([429, 'rate_limited'])
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    },
  )

  test('is served with a known key, even if the gateway has not seen it before', async () => {
    const { apiKeys } = await world.account({ apiKeys: 3 })
    const [row] = ROWS
    for (const apiKey of [...apiKeys, ...apiKeys]) {
      expect((await ask({ path: '/v1/key', apiKey, forwardedFor })).httpStatus).toBe(200)
      const { path = '', body = {} } = row ?? {}
      expect((await ask({ path, body, apiKey, forwardedFor })).httpStatus).toBe(200)
    }
    expect((await guess(forwardedFor, 1))[0]).toBe(429)
  })

  test('is served with the admin token, and without a key where none is required', async () => {
    const admin = await ask({ path: '/v1/admin/accounts', apiKey: ADMIN_TOKEN, forwardedFor })
    expect(admin.httpStatus).toBe(200)
    expect((await ask({ path: '/v1/models', apiKey: null, forwardedFor })).httpStatus).toBe(200)
  })

  test('refuses no other address, even if a client puts other addresses before its own', async () => {
    expect(await guess('192.0.2.3', 1)).toEqual([401])
    expect(await guess(`${forwardedFor}, 192.0.2.3, 10.1.1.1`, 1)).toEqual([401])
    expect(await guess(`192.0.2.3, ${forwardedFor}, 10.1.1.1`, 1)).toEqual([429])
  })
})

test('a known key that may not be used does not count as unknown', async () => {
  const forwardedFor = '192.0.2.4'
  const { id, apiKey } = await world.account()
  await world.gateway.store.db
    .updateTable('accounts')
    .set({ disabled: 1 })
    .where('id', '=', id)
    .execute()
  for (let sent = 0; sent < MAX + 5; sent++) {
    const { httpStatus, json } = await ask({ path: '/v1/key', apiKey, forwardedFor })
    expect([httpStatus, json.error.code]).toEqual([403, 'account_suspended'])
  }
  expect(await guess(forwardedFor, 1)).toEqual([401])
})

test('the addresses of an IPv6 network are one client', async () => {
  await guess('2001:db8:0:1::1')
  expect(await guess('2001:db8:0:1:ffff::2', 1)).toEqual([429])
  expect(await guess('2001:db8:0:2::1', 1)).toEqual([401])
})

test('without trusted proxies, x-forwarded-for is not read', async () => {
  const bare = await startWorld({ clock })
  const statuses: number[] = []
  for (let sent = 0; sent <= MAX; sent++) {
    const { statusCode, body } = await request(bare.url('/v1/key'), {
      headers: { 'x-forwarded-for': `192.0.2.${sent}` },
    })
    await body.dump()
    statuses.push(statusCode)
  }
  await bare.close()
  expect(statuses.at(MAX - 1)).toBe(401)
  expect(statuses.at(MAX)).toBe(429)
})
