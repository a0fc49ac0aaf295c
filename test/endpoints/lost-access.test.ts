import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../src/operations/operation.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { ADA, Browser, inviteGuest, setUpOperator } from '../page/page-client.ts'
import { type TestAccount, worldOfFile } from '../world.ts'

let account: TestAccount

/** An operation of keys that has a body: the product has none yet. */
const ofKeys = operation({
  name: 'say',
  method: 'POST',
  paths: { key: '/v1/said' },
  summary: 'Answer with the word that was sent.',
  body: z.strictObject({ word: z.string() }),
  example: { word: 'yes' },
  answers: { 200: z.object({ word: z.string() }) },
  run: async ({ body }) => body,
})

const world = worldOfFile({ operations: [...OPERATIONS, ['Words', () => [ofKeys]]] })
beforeAll(async () => {
  account = await world.account()
  await setUpOperator(world)
})

interface Sent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** Sends a body only once the gateway waits for it and something has happened. Resolves with status and error code. */
async function sendSlowly({ path, headers, body }: Sent, happens: () => Promise<unknown>) {
  const sent = request(world.url(path), {
    method: 'POST',
    headers: { ...headers, expect: '100-continue', 'transfer-encoding': 'chunked' },
  })
  sent.flushHeaders()
  const answered = once(sent, 'response')
  await once(sent, 'continue')
  await happens()
  sent.end(JSON.stringify(body))
  const [answer] = (await answered) as [IncomingMessage]
  const { error } = JSON.parse(Buffer.concat(await answer.toArray()).toString())
  return [answer.statusCode, Object(error).code]
}

function pageCall(browser: Browser, path: string, body: object): Sent {
  const { origin } = new URL(world.url('/'))
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { origin, cookie, 'content-type': 'application/json' }
  return { path: `/app/api/${path}`, headers, body }
}

/** The operator, in a browser of its own. */
async function signIn(): Promise<Browser> {
  const browser = new Browser(world)
  await browser.post('auth/sign-in', ADA)
  return browser
}

const keysPath = () => `accounts/${account.id}/keys`

test('a session that ends while its body arrives changes nothing', async () => {
  const member = { accountId: account.id, role: 'member' } as const
  const browser = await inviteGuest(world, { email: 'eve@example.org', ...member })
  const call = pageCall(browser, keysPath(), { name: 'late' })
  expect(await sendSlowly(call, async () => {})).toEqual([201, undefined])
  const answered = await sendSlowly(call, () => browser.post('auth/sign-out'))
  expect(answered).toEqual([401, 'not_signed_in'])
})

test('a member who is removed while the body arrives changes nothing', async () => {
  const member = { accountId: account.id, role: 'member' } as const
  const browser = await inviteGuest(world, { email: 'mallory@example.org', ...member })
  const call = pageCall(browser, keysPath(), { name: 'late' })
  const { db } = world.gateway.store
  const remove = () => db.deleteFrom('members').where('account_id', '=', account.id).execute()
  expect(await sendSlowly(call, remove)).toEqual([404, 'not_found'])
})

test('a member whose session ends while the body arrives sends nothing from the Playground', async () => {
  const member = { accountId: account.id, role: 'member' } as const
  const browser = await inviteGuest(world, { email: 'trent@example.org', ...member })
  const body = { model: 'sim/text', messages: [{ role: 'user', content: 'Hello.' }] }
  const call = pageCall(browser, `accounts/${account.id}/playground/chat`, body)
  expect(await sendSlowly(call, async () => {})).toEqual([200, undefined])
  const { length } = world.simulator.requests
  const answered = await sendSlowly(call, () => browser.post('auth/sign-out'))
  expect(answered).toEqual([401, 'not_signed_in'])
  expect(world.simulator.requests.slice(length).filter((sent) => sent.isInference)).toEqual([])
})

test('an operator whose session ends while the body arrives creates no account', async () => {
  const browser = await signIn()
  const call = pageCall(browser, 'operator/own-accounts', { name: 'Late' })
  const answered = await sendSlowly(call, () => browser.post('auth/sign-out'))
  expect(answered).toEqual([401, 'not_signed_in'])
})

test('a key that is disabled while the body arrives changes nothing', async () => {
  const browser = await signIn()
  const { json } = await browser.post(keysPath(), { name: 'short' })
  const headers = { authorization: `Bearer ${json['key']}` }
  const call = { path: '/v1/said', headers, body: { word: 'yes' } }
  expect(await sendSlowly(call, async () => {})).toEqual([200, undefined])
  const answered = await sendSlowly(call, () =>
    browser.call('PATCH', `${keysPath()}/${json['id']}`, { body: { disabled: true } }),
  )
  expect(answered).toEqual([401, 'api_key_disabled'])
})
