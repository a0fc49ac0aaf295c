import { describe, expect, test } from 'vitest'
import { column, Management, refusal, textOf } from './management.ts'

/** The notes of a shop on accounts and keys: external IDs of accounts, and metadata. */

const admin = Management.ofFile()

const ACCOUNTS = '/v1/admin/accounts'
const create = (externalId: unknown, more: object = {}) =>
  admin.post(ACCOUNTS, { name: 'shop', external_id: externalId, ...more })
const find = (externalId: string) =>
  admin.get(`${ACCOUNTS}?external_id=${encodeURIComponent(externalId)}`)

describe('an external id', () => {
  test('makes one account, even for 30 requests at the same time, and repeats do not change the account', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, place) => create('customer-1', { name: `shop ${place}` })),
    )
    const statuses = answers.map(({ httpStatus }) => httpStatus).sort()
    expect(statuses).toEqual([...new Array(29).fill(200), 201])
    expect(new Set(answers.map(({ json }) => json['id'])).size).toBe(1)
    const made = answers.find(({ httpStatus }) => httpStatus === 201)
    const again = await create('customer-1', { name: 'other', email: 'a@b.example' })
    expect([again.httpStatus, again.json]).toEqual([200, made?.json])
    expect((await find('customer-1')).json['data']).toEqual([made?.json])
    expect((await find('customer-')).json['data']).toEqual([])
  })

  test('belongs to one account: another account is refused it until the first one drops it', async () => {
    const { json: owner } = await create('customer-2')
    const { json: other } = await create(null)
    const ofOther = `${ACCOUNTS}/${textOf(other, 'id')}`
    const ofOwner = `${ACCOUNTS}/${textOf(owner, 'id')}`
    const taken = await admin.patch(ofOther, { external_id: 'customer-2', name: 'renamed' })
    expect(taken).toEqual(refusal(409, 'external_id_taken', 'external_id'))
    expect((await admin.get(ofOther)).json).toMatchObject({ external_id: null, name: 'shop' })
    expect((await admin.patch(ofOwner, { external_id: 'customer-2' })).httpStatus).toBe(200)
    expect((await admin.patch(ofOwner, { external_id: null })).json['external_id']).toBeNull()
    expect((await admin.patch(ofOther, { external_id: 'customer-2' })).httpStatus).toBe(200)
    expect(column(await find('customer-2'), 'id')).toEqual([other['id']])
    expect((await create('customer-2')).json['id']).toBe(other['id'])
  })

  test.each([
    'Customer-3',
    'customer-3 ',
    ' customer-3',
    '\u0421ustomer-3',
    'a/b?c&d=%25',
    '__proto__',
    '名',
  ])('%j matches only itself', async (externalId) => {
    expect((await create('customer-3')).httpStatus).toBeLessThan(202)
    const { httpStatus, json } = await create(externalId)
    expect([httpStatus, json['external_id']]).toEqual([201, externalId])
    expect(column(await find(externalId), 'id')).toEqual([json['id']])
  })

  test.each(['', 'x'.repeat(256), 'a\nb', 'a\u0000', 'a\u200b', '\ud800', 7, {}, ['a'], true])(
    '%j is refused, and named',
    async (externalId) => {
      expect(await create(externalId)).toEqual(refusal(400, 'invalid_parameter', 'external_id'))
    },
  )
})

test('billing details are replaced as a whole, and removed by null or by three nulls', async () => {
  const { json } = await create(null, { billing: { name: 'Acme', tax_id: 'DE1' } })
  expect(json['billing']).toEqual({ name: 'Acme', address: null, tax_id: 'DE1' })
  const path = `${ACCOUNTS}/${textOf(json, 'id')}`
  const billingAfter = async (body: object) => (await admin.patch(path, body)).json['billing']
  expect(await billingAfter({ name: 'other' })).toEqual(json['billing'])
  const moved = { name: null, address: 'Kai 3, Hamburg', tax_id: null }
  expect(await billingAfter({ billing: { address: 'Kai 3, Hamburg' } })).toEqual(moved)
  expect(await billingAfter({ billing: { name: null, address: null, tax_id: null } })).toBeNull()
  expect(await billingAfter({ billing: moved })).toEqual(moved)
  expect(await billingAfter({ billing: null })).toBeNull()
  expect((await admin.patch(path, { billing: { vat: 'x' } })).httpStatus).toBe(400)
})

describe('metadata', () => {
  const full = Object.fromEntries(
    Array.from({ length: 16 }, (_, place) => [`${place}`.padStart(64, 'k'), 'v'.repeat(512)]),
  )

  test('is set, replaced as a whole, and removed by null, for accounts and keys', async () => {
    const account = await create(null, { metadata: { plan: 'gold' } })
    expect(account.json['metadata']).toEqual({ plan: 'gold' })
    const ofAccount = `${ACCOUNTS}/${textOf(account.json, 'id')}`
    const key = await admin.post(`${ofAccount}/keys`, { name: 'k', metadata: { plan: 'gold' } })
    expect(key.json['metadata']).toEqual({ plan: 'gold' })
    for (const path of [ofAccount, `/v1/admin/keys/${textOf(key.json, 'id')}`]) {
      expect((await admin.patch(path, { metadata: full })).json['metadata']).toEqual(full)
      expect((await admin.patch(path, { name: 'other' })).json['metadata']).toEqual(full)
      const odd = JSON.parse('{"__proto__":"a","constructor":"b","":""}')
      const refused = await admin.patch(path, { metadata: odd })
      expect(refused).toEqual(refusal(400, 'invalid_parameter', 'metadata'))
      const named = '{"metadata":{"__proto__":"a","constructor":"b","x":""}}'
      await admin.call({ method: 'PATCH', path, body: named })
      expect(JSON.stringify((await admin.get(path)).json['metadata'])).toBe(
        '{"__proto__":"a","constructor":"b","x":""}',
      )
      expect((await admin.patch(path, { metadata: null })).json['metadata']).toEqual({})
      expect((await admin.patch(path, { metadata: {} })).json['metadata']).toEqual({})
    }
  })

  test.each<[string, unknown]>([
    ['17 pairs', { ...full, more: '' }],
    ['a key of 65 characters', { ['k'.repeat(65)]: 'v' }],
    ['a value of 513 characters', { k: 'v'.repeat(513) }],
    ['a number', { k: 1 }],
    ['null in it', { k: null }],
    ['a list in it', { k: ['v'] }],
    ['a control character in a key', { 'a\nb': 'v' }],
    ['a quote in a key', { 'a"b': 'v' }],
    ['a backslash in a key', { 'a\\b': 'v' }],
    ['a control character in a value', { k: 'a\u0000' }],
    ['half a letter', { k: '\ud800' }],
    ['a list', ['v']],
    ['a text', 'v'],
    ['a number alone', 1],
  ])('%s is refused', async (_what, metadata) => {
    expect(await create(null, { metadata })).toEqual(refusal(400, 'invalid_parameter', 'metadata'))
  })
})
