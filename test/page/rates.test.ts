import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { beforeEach, expect, test } from 'vitest'
import { worldOfEach } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

const CALLS_A_MINUTE = 600
const IN_FLIGHT = 16

// The clock stops between the steps of a test: no minute ends unless a step ends it.
const STARTED_MS = Date.now()
let passedMs = 0

beforeEach(() => {
  passedMs = 0
})
const world = worldOfEach({ clock: { nowMs: () => STARTED_MS + passedMs } })

test('a user has 600 calls a minute, of all kinds and sessions together, separate from other users', async () => {
  const { id: accountId } = await world.account()
  const browser = await setUpOperator(world)
  const paths = ['me', 'auth/sessions', `accounts/${accountId}/keys`]
  for (let calls = 0; calls < CALLS_A_MINUTE; calls++) {
    const { httpStatus } = await browser.get(paths[calls % paths.length] ?? '')
    expect(httpStatus).toBe(200)
  }
  for (const path of paths) {
    const answer = await browser.get(path)
    expect(errorOf(answer)).toEqual({ httpStatus: 429, code: 'rate_limited', param: null })
    expect(answer.headers.get('retry-after')).toBe('60')
  }
  const refused = await browser.post(`accounts/${accountId}/keys`, { name: 'one more' })
  expect(refused.httpStatus).toBe(429)
  const guest = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'member' })
  expect((await guest.get('me')).httpStatus).toBe(200)
  passedMs += 60_000
  expect((await browser.get('me')).httpStatus).toBe(200)
})

test('a user has at most 16 calls in flight, and a call that ends or whose client leaves frees its place', async () => {
  const { id: accountId } = await world.account()
  const browser = await setUpOperator(world)
  const path = `accounts/${accountId}/keys`
  const underWay = []
  for (let calls = 0; calls < IN_FLIGHT; calls++) underWay.push(await waiting(browser, path))
  const refused = await browser.get('me')
  expect(errorOf(refused)).toMatchObject({ httpStatus: 429, code: 'rate_limited' })
  expect(refused.headers.get('retry-after')).toBe('1')

  const [ended, left] = underWay
  const answered = once(ended as ClientRequest, 'response')
  ended?.end(JSON.stringify({ name: 'made' }))
  expect((await answered)[0].statusCode).toBe(201)
  expect((await browser.get('me')).httpStatus).toBe(200)

  underWay[0] = await waiting(browser, path)
  expect((await browser.get('me')).httpStatus).toBe(429)
  left?.destroy()
  await expect
    .poll(async () => {
      // Each try is a second later: the limit of a minute refuses none of them.
      passedMs += 1_000
      return (await browser.get('me')).httpStatus
    })
    .toBe(200)
  for (const call of underWay) call.destroy()
})

/** A call whose body the gateway waits for. */
async function waiting(browser: Browser, path: string): Promise<ClientRequest> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const call = request(world.url(`/app/api/${path}`), {
    method: 'POST',
    headers: {
      cookie,
      origin: new URL(world.url('/')).origin,
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
      expect: '100-continue',
    },
  })
  call.on('error', () => {})
  call.flushHeaders()
  await once(call, 'continue')
  return call
}
