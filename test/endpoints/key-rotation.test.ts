import { beforeAll, expect, test } from 'vitest'
import { Management, textOf } from './management.ts'

let accountId: string

const admin = Management.ofFile()
beforeAll(async () => {
  accountId = await admin.account(1_000_000)
})

const rotate = (apiKeyId: string, body: object = {}) =>
  admin.post(`/v1/admin/keys/${apiKeyId}/rotate`, body)

async function ownId(text: string): Promise<unknown> {
  const { httpStatus, json } = await admin.get('/v1/key', text)
  return httpStatus === 200 ? json['id'] : httpStatus
}

test('a rotated key has a new secret and the same ID and spend, and its previous secret works for a day', async () => {
  const { id, text } = await admin.apiKey(accountId)
  expect((await admin.chat(text)).httpStatus).toBe(200)
  await admin.world.gateway.settled()
  const before = (await admin.get(`/v1/admin/keys/${id}`)).json
  const startedMs = Date.now()
  const { httpStatus, json } = await rotate(id)
  expect(httpStatus).toBe(200)
  const next = textOf(json, 'key')
  expect(next).not.toBe(text)
  expect(json).toMatchObject({ id, spend: before['spend'], created_at: before['created_at'] })
  expect(json['prefix']).not.toBe(before['prefix'])
  const ends = Date.parse(textOf(json, 'previous_expires_at'))
  expect(ends).toBeGreaterThanOrEqual(startedMs + 86_400_000)
  expect(ends).toBeLessThanOrEqual(Date.now() + 86_400_000)
  expect([await ownId(text), await ownId(next)]).toEqual([id, id])
  expect((await admin.chat(text)).httpStatus).toBe(200)
  expect((await admin.chat(next)).httpStatus).toBe(200)
  const shown = (await admin.get(`/v1/admin/keys/${id}`)).json
  expect(shown).not.toHaveProperty('key')
  expect(shown['previous_expires_at']).toBe(json['previous_expires_at'])
  const { db } = admin.world.gateway.store
  await db.updateTable('api_keys').set({ previous_expires_at_ms: Date.now() }).execute()
  const later = (await admin.get(`/v1/admin/keys/${id}`)).json
  expect(later['previous_expires_at']).toBeNull()
})

test('a second rotation ends the first secret at once, and a rotation without grace ends the previous one', async () => {
  const { id, text } = await admin.apiKey(accountId)
  const second = textOf((await rotate(id, { grace_seconds: 600 })).json, 'key')
  const third = textOf((await rotate(id, { grace_seconds: 600 })).json, 'key')
  expect([await ownId(text), await ownId(second), await ownId(third)]).toEqual([401, id, id])
  const { json } = await rotate(id, { grace_seconds: 0 })
  expect(json['previous_expires_at']).toBeNull()
  const fourth = textOf(json, 'key')
  expect([await ownId(second), await ownId(third), await ownId(fourth)]).toEqual([401, 401, id])
})

test('everything that ends a key also ends its previous secret', async () => {
  const { id, text } = await admin.apiKey(accountId)
  await rotate(id)
  await admin.patch(`/v1/admin/keys/${id}`, { disabled: true })
  expect((await admin.get('/v1/key', text)).json['error']).toMatchObject({
    code: 'api_key_disabled',
  })
  await admin.call({ method: 'DELETE', path: `/v1/admin/keys/${id}` })
  expect(await ownId(text)).toBe(401)
  expect((await rotate(id)).httpStatus).toBe(404)
})

test.each([-1, 604_801, 1.5, '3600', null])('a grace of %j is refused', async (grace_seconds) => {
  const { id, text } = await admin.apiKey(accountId)
  const { httpStatus, json } = await rotate(id, { grace_seconds })
  expect([httpStatus, json['error']]).toEqual([
    400,
    expect.objectContaining({ code: 'invalid_parameter', param: 'grace_seconds' }),
  ])
  expect(await ownId(text)).toBe(id)
})

test('keys are found by a part of their name, prefix or id', async () => {
  const owner = await admin.account()
  const keysPath = `/v1/admin/accounts/${owner}/keys`
  const make = async (name: string) => (await admin.post(keysPath, { name })).json
  const [bot, evals] = [await make('Support bot'), await make('50% evals')]
  const found = async (search: string) => {
    const { json } = await admin.get(`${keysPath}?search=${encodeURIComponent(search)}`)
    return Object(json['data']).map((each: object) => Object(each).id)
  }
  expect(await found('support')).toEqual([bot['id']])
  expect(await found('0%')).toEqual([evals['id']])
  expect(await found(textOf(bot, 'prefix').slice(-4))).toEqual([bot['id']])
  expect(await found(textOf(evals, 'id').slice(-6))).toEqual([evals['id']])
  expect(await found('nothing')).toEqual([])
})
