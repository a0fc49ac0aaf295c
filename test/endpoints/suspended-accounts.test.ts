import { beforeAll, expect, test } from 'vitest'
import { type Browser, errorOf, inviteGuest, setUpOperator } from '../page/page-client.ts'
import { type TestAccount, worldOfFile } from '../world.ts'

let account: TestAccount
let operator: Browser
let member: Browser

const world = worldOfFile()
beforeAll(async () => {
  account = await world.account()
  operator = await setUpOperator(world)
  const guest = { email: 'lin@example.org', accountId: account.id, role: 'owner' } as const
  member = await inviteGuest(world, guest)
})

const CHAT = { model: 'sim/text', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 9 }

function change(body: object) {
  return operator.call('PATCH', `operator/accounts/${account.id}`, { body })
}

async function keyStates(): Promise<unknown[]> {
  const { json } = await member.get(`accounts/${account.id}/keys`)
  return Object(json['data']).map((each: object) => Object(each).state)
}

/** The answer to a call with the account's key. */
async function sent(path: string, body?: object) {
  const answer = await fetch(world.url(path), {
    headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  return { httpStatus: answer.status, headers: answer.headers, json: Object(await answer.json()) }
}

test('each call with a key of a suspended account says that the account is suspended', async () => {
  expect(await keyStates()).toEqual(['active'])
  const suspended = await change({ disabled: true, note: 'Invoice 7 is open.' })
  expect(suspended.json).toMatchObject({ state: 'suspended', disabled: true })
  for (const path of [
    '/v1/key',
    '/v1/balance',
    '/v1/usage',
    '/v1/requests',
    '/v1/credit/purchases',
  ]) {
    const { httpStatus, headers, json } = await sent(path)
    expect([path, httpStatus, headers.get('x-should-retry')]).toEqual([path, 403, 'false'])
    expect(json.error).toEqual({
      message: 'This account is suspended. Contact the operator of this gateway.',
      type: 'permission_error',
      code: 'account_suspended',
      param: null,
    })
  }
  expect((await sent('/v1/chat/completions', CHAT)).json.error.code).toBe('account_suspended')
  const messages = await sent('/v1/messages', CHAT)
  expect([messages.httpStatus, messages.json.error.type]).toEqual([403, 'permission_error'])
  const played = await member.post(`accounts/${account.id}/playground/chat`, CHAT)
  expect(errorOf(played)).toMatchObject({ httpStatus: 403, code: 'account_suspended' })
})

test('its members see the time and the reason, and its keys report the suspension before their own faults', async () => {
  const { json } = await member.get(`accounts/${account.id}`)
  expect(json).toMatchObject({ state: 'suspended', disabled_note: 'Invoice 7 is open.' })
  expect(Date.parse(String(json['disabled_at']))).toBeGreaterThan(Date.now() - 60_000)
  const made = await member.post(`accounts/${account.id}/keys`, { name: 'made while suspended' })
  expect([made.httpStatus, made.json['state']]).toEqual([201, 'account_suspended'])
  const key = `accounts/${account.id}/keys/${made.json['id']}`
  await member.call('PATCH', key, { body: { disabled: true } })
  expect(new Set(await keyStates())).toEqual(new Set(['account_suspended']))
  const again = await change({ disabled: true, note: 'Two invoices are open.' })
  expect(again.json).toMatchObject({
    disabled_at: json['disabled_at'],
    disabled_note: 'Two invoices are open.',
  })
  const resumed = await change({ disabled: false, note: 'Both are paid.' })
  expect(resumed.json).toMatchObject({ state: 'active', disabled_at: null, disabled_note: null })
  expect((await member.get(`accounts/${account.id}`)).text).not.toContain('Both are paid.')
  const actions = await operator.get(`operator/actions?account=${account.id}&limit=1`)
  expect(Object(actions.json['data'])[0].detail).toEqual({
    disabled: false,
    note: 'Both are paid.',
  })
  expect((await member.get(key)).json['state']).toBe('disabled')
  await member.call('PATCH', key, { body: { disabled: false, credit_limit: 0 } })
  expect((await member.get(key)).json['state']).toBe('limit_reached')
  expect((await sent('/v1/key')).json.state).toBe('active')
  expect((await sent('/v1/chat/completions', CHAT)).httpStatus).toBe(200)
})

test('a note needs a suspension or its end, and has at most 200 characters', async () => {
  for (const body of [{ note: 'x' }, { disabled: true, note: 'x'.repeat(201) }]) {
    expect(errorOf(await change(body))).toEqual({
      httpStatus: 400,
      code: 'invalid_parameter',
      param: 'note',
    })
  }
})
