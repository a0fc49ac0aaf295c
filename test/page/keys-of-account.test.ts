import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

let operator: Browser
let member: Browser
let account: string

const world = worldOfFile({ settings: { TOLLGATE_KEYS_PER_ACCOUNT: '4' } })
beforeAll(async () => {
  operator = await setUpOperator(world)
  const { id: accountId } = await world.account()
  account = `accounts/${accountId}`
  member = await inviteGuest(world, { email: 'member@example.org', accountId, role: 'member' })
})

const chat = (by: Browser) =>
  by.post(`${account}/playground/chat`, {
    model: 'sim/text',
    messages: [{ role: 'user', content: 'Hi.' }],
  })
const create = (by: Browser) => by.post(`${account}/keys`, { name: 'key' })
const keys = async () => Object((await member.get(`${account}/keys`)).json['data'])

test('members have a limit of keys in an account, operators a higher one, and the key of the Playground does not count', async () => {
  const present = keys().then(({ length }) => length)
  for (let count = await present; count < 4; count++) {
    expect((await create(member)).httpStatus).toBe(201)
  }
  const refusal = { httpStatus: 409, code: 'too_many_keys', param: null }
  const refused = await create(member)
  expect(errorOf(refused)).toEqual(refusal)
  expect(refused.text).toContain('This account has as many API keys as its members can have: 4.')
  expect((await create(operator)).httpStatus).toBe(201)
  expect((await chat(member)).httpStatus).toBe(200)
  expect(await keys()).toHaveLength(6)
})

test('members who delete keys to create others have a limit of new keys in a day', async () => {
  for (const { id } of await keys()) await member.call('DELETE', `${account}/keys/${id}`)
  const refused = await create(member)
  expect(errorOf(refused)).toMatchObject({ httpStatus: 409, code: 'too_many_keys' })
  expect(refused.text).toContain('within 24 hours as its members can create: 4.')
})

test('a Playground whose key is deleted again and again gets no new key that day', async () => {
  const deletePlaygroundKey = async () => {
    const [{ id }] = (await keys()).filter(({ name }: { name: string }) => name === 'Playground')
    await member.call('DELETE', `${account}/keys/${id}`)
  }
  let made = 1
  for (; (await chat(member)).httpStatus === 200; made++) await deletePlaygroundKey()
  expect(made).toBe(20)
  expect(errorOf(await chat(member))).toMatchObject({ httpStatus: 409, code: 'too_many_keys' })
})
