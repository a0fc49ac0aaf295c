import { describe, expect, test } from 'vitest'
import { Management, refusal, textOf } from './management.ts'

/** The settings of models that accounts and keys may use; the contract tests their effect. */

const admin = Management.ofFile()

const LONG = `acme/${'x'.repeat(195)}`
const many = (count: number) => Array.from({ length: count }, (_, place) => `acme/m${place}`)

/** An account and a key of it, each with its path. */
async function bothPaths(): Promise<readonly string[]> {
  const id = await admin.account()
  const { id: keyId } = await admin.apiKey(id)
  return [`/v1/admin/accounts/${id}`, `/v1/admin/keys/${keyId}`]
}

describe('lists of models', () => {
  test('are changed one by one and removed by null, for accounts and keys', async () => {
    for (const path of await bothPaths()) {
      const change = async (models: unknown) => {
        const { httpStatus, json } = await admin.patch(path, { models })
        expect([httpStatus, (await admin.get(path)).json['models']]).toEqual([200, json['models']])
        return json['models']
      }
      expect((await admin.get(path)).json['models']).toBeNull()
      expect(await change({ allow: ['acme/*', ' acme/a ', 'acme/*'] })).toEqual({
        allow: ['acme/*', 'acme/a'],
        deny: [],
      })
      expect(await change({ deny: ['constructor/*', 'nova/a:free'] })).toEqual({
        allow: ['acme/*', 'acme/a'],
        deny: ['constructor/*', 'nova/a:free'],
      })
      expect(await change({})).toMatchObject({ allow: ['acme/*', 'acme/a'] })
      expect(await change({ allow: null })).toEqual({
        allow: [],
        deny: ['constructor/*', 'nova/a:free'],
      })
      expect(await change({ deny: [] })).toBeNull()
      expect(await change({ allow: many(200), deny: [LONG] })).toEqual({
        allow: many(200),
        deny: [LONG],
      })
      expect((await admin.patch(path, { name: 'other' })).json['models']).not.toBeNull()
      expect(await change(null)).toBeNull()
    }
  })

  test('can be set when an account or key is created', async () => {
    const models = { allow: ['sim/*'], deny: ['sim/image'] }
    const account = await admin.post('/v1/admin/accounts', { name: 'a', models })
    expect([account.httpStatus, account.json['models']]).toEqual([201, models])
    const keys = `/v1/admin/accounts/${textOf(account.json, 'id')}/keys`
    const key = await admin.post(keys, { name: 'k', models: { deny: ['sim/text'] } })
    expect(key.json['models']).toEqual({ allow: [], deny: ['sim/text'] })
    expect((await admin.post(keys, { name: 'k', models: null })).json['models']).toBeNull()
    const own = await admin.get('/v1/key', textOf(key.json, 'key'))
    expect(own.json['models']).toEqual({ allow: [], deny: ['sim/text'] })
  })

  test.each<[unknown, string]>([
    [{ allow: ['*'] }, 'models.allow.0'],
    [{ allow: ['acme/a', '*/*'] }, 'models.allow.1'],
    [{ deny: ['acme*'] }, 'models.deny.0'],
    [{ deny: ['__proto__/*'] }, 'models.deny.0'],
    [{ deny: ['acme/a*'] }, 'models.deny.0'],
    [{ deny: ['acme/'] }, 'models.deny.0'],
    [{ deny: ['/a'] }, 'models.deny.0'],
    [{ deny: ['acme'] }, 'models.deny.0'],
    [{ deny: [''] }, 'models.deny.0'],
    [{ deny: ['acme/a[1m]'] }, 'models.deny.0'],
    [{ deny: ['~acme/a-latest'] }, 'models.deny.0'],
    [{ deny: ['acme/caf\u00e9'] }, 'models.deny.0'],
    [{ deny: ['\u0430cme/a'] }, 'models.deny.0'],
    [{ deny: ['acme/a\u0000'] }, 'models.deny.0'],
    [{ deny: ['acme/a, acme/b'] }, 'models.deny.0'],
    [{ deny: [`${LONG}x`] }, 'models.deny.0'],
    [{ deny: many(201) }, 'models.deny'],
    [{ deny: [1] }, 'models.deny.0'],
    [{ deny: [null] }, 'models.deny.0'],
    [{ deny: 'acme/a' }, 'models.deny'],
    [{ deny: { 0: 'acme/a' } }, 'models.deny'],
    [{ block: ['acme/a'] }, 'models.block'],
    [['acme/a'], 'models'],
    ['acme/a', 'models'],
    [true, 'models'],
  ])('%j is refused, and named', async (models, param) => {
    for (const path of await bothPaths()) {
      expect(await admin.patch(path, { models })).toEqual(refusal(400, 'invalid_parameter', param))
      expect((await admin.get(path)).json['models']).toBeNull()
    }
  })
})
