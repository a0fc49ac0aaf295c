import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN, errorOf, Management, refusal } from './management.ts'

let accountId: string
let keyId: string

const admin = Management.ofFile()
beforeAll(async () => {
  accountId = await admin.account()
  keyId = (await admin.apiKey(accountId)).id
})
afterAll(async () => {
  // No refused call left anything behind.
  expect((await admin.get('/v1/admin/accounts')).json).toMatchObject({
    data: [{ id: accountId, name: 'test', credit: { backed: { balance: 0 } } }],
  })
  expect((await admin.get(`/v1/admin/accounts/${accountId}/entries`)).json).toMatchObject({
    data: [],
  })
})

const FUTURE = '2999-01-01T00:00:00Z'

/** The path of a body, the body, and its faulty fields in the order of the message. */
type Refused = readonly [path: string, body: object, fields: readonly string[]]

const ACCOUNTS: readonly Refused[] = [
  ['accounts', {}, ['name']],
  ['accounts', { name: null }, ['name']],
  ['accounts', { name: '   ' }, ['name']],
  ['accounts', { name: 'a\u0007b' }, ['name']],
  ['accounts', { name: 'x'.repeat(201) }, ['name']],
  ['accounts', { name: 'x', email: 'nobody' }, ['email']],
  ['accounts', { name: 5, email: 7, nmae: 'x', id: 'acct_1' }, ['name', 'email', 'nmae', 'id']],
]

const CREDIT: readonly Refused[] = [
  ['credit', {}, ['kind']],
  ['credit', { kind: 'bonus', amount: 1, reference: 'r' }, ['kind']],
  ['credit', { kind: 'backed', amount: 0, reference: 'r' }, ['amount']],
  ['credit', { kind: 'backed', amount: 0.5, reference: 'r' }, ['amount']],
  ['credit', { kind: 'backed', amount: 1e300, reference: 'r' }, ['amount']],
  ['credit', { kind: 'backed', amount: 9_007_199_254_740_991, reference: 'r' }, ['amount']],
  ['credit', { kind: 'backed', amount: '5', reference: 'r' }, ['amount']],
  ['credit', { kind: 'backed', amount: 1 }, ['reference']],
  ['credit', { kind: 'backed', amount: 1, reference: '' }, ['reference']],
  ['credit', { kind: 'backed', amount: 1, reference: 'code_1' }, ['reference']],
  ['credit', { kind: 'backed', amount: 1, reference: 'r', expires_at: FUTURE }, ['expires_at']],
  ['credit', { kind: 'free', amount: 1, reference: 'r' }, ['expires_at']],
  ['credit', { kind: 'free', amount: -1, reference: 'r', expires_at: FUTURE }, ['amount']],
  ['credit', { kind: 'free', amount: 1, reference: 'r', expires_at: '2999-01-01' }, ['expires_at']],
]

const OTHERS: readonly Refused[] = [
  ['keys', {}, ['name']],
  ['keys', { name: 'k', credit_limit: -1 }, ['credit_limit']],
  ['keys', { name: 'k', expires_at: 1 }, ['expires_at']],
  ['keys', { name: 'k', key: 'sk-mine' }, ['key']],
  ['codes', { amount: 0 }, ['amount']],
  ['codes', { amount: -5, expires_at: 'soon' }, ['amount', 'expires_at']],
  ['redeem', { code: 7 }, ['code']],
]

function pathOf(name: string): string {
  return name === 'accounts' || name === 'codes'
    ? `/v1/admin/${name}`
    : `/v1/admin/accounts/${accountId}/${name}`
}

test.each([...ACCOUNTS, ...CREDIT, ...OTHERS])(
  '%s refuses %j and names every field at fault',
  async (name, body, fields) => {
    const { httpStatus, json } = await admin.post(pathOf(name), body)
    const [param = ''] = fields
    expect([httpStatus, json]).toEqual([400, errorOf('invalid_parameter', param)])
    const named = [...JSON.stringify(json).matchAll(/`(\w+)` (?=must|is|needs)/g)].map(
      ([, field]) => field,
    )
    expect(named).toEqual(fields)
  },
)

test.each([
  [{ disabled: 'yes' }, 'disabled'],
  [{ name: '' }, 'name'],
  [{ credit_limit: 1 }, 'credit_limit'],
  [{ created_at: FUTURE }, 'created_at'],
])('a change of an account refuses %j', async (body, param) => {
  const { httpStatus, json } = await admin.patch(`/v1/admin/accounts/${accountId}`, body)
  expect([httpStatus, json]).toEqual([400, errorOf('invalid_parameter', param)])
})

test.each([
  [{ spend: 0 }, 'spend'],
  [{ credit_limit: 0.1 }, 'credit_limit'],
  [{ disabled: null }, 'disabled'],
])('a change of a key refuses %j', async (body, param) => {
  const { httpStatus, json } = await admin.patch(`/v1/admin/keys/${keyId}`, body)
  expect([httpStatus, json]).toEqual([400, errorOf('invalid_parameter', param)])
})

test.each([
  ['nothing', ''],
  ['no JSON', 'name=x'],
  ['an array', '[]'],
  ['a field twice', '{"name":"a","name":"b"}'],
  ['depth without end', '['.repeat(50_000)],
])('a body that is %s is refused as not a JSON object', async (_what, body) => {
  const { httpStatus, json } = await admin.post('/v1/admin/accounts', body)
  expect([httpStatus, json]).toMatchObject([400, { error: { code: 'invalid_json' } }])
})

test('a body above 64 KB is refused before it is parsed, plain or inflated', async () => {
  const body = JSON.stringify({ name: 'x'.repeat(70_000) })
  expect(await admin.post('/v1/admin/accounts', body)).toEqual(refusal(413, 'request_too_large'))
  const coded = await request(admin.world.url('/v1/admin/accounts'), {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-encoding': 'gzip' },
    body: gzipSync(body),
  })
  expect([coded.statusCode, await coded.body.json()]).toEqual([413, errorOf('request_too_large')])
})

/** Waits for `100 Continue` before it sends its body: whether that came, and the final status. */
function askBeforeSending(
  token: string,
): Promise<readonly [continued: boolean, httpStatus: number]> {
  const body = '{"amount":1}'
  return new Promise((resolve, reject) => {
    let continued = false
    const asking = httpRequest(admin.world.url('/v1/admin/codes'), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        expect: '100-continue',
        'content-length': body.length,
      },
    })
    asking.once('continue', () => {
      continued = true
      asking.end(body)
    })
    asking.once('response', (answer) => {
      answer.resume()
      answer.once('end', () => {
        asking.destroy()
        resolve([continued, answer.statusCode ?? 0])
      })
    })
    asking.once('error', reject)
    asking.flushHeaders()
  })
}

test('a client that waits for 100 Continue gets it, unless its token is wrong', async () => {
  expect(await askBeforeSending('another')).toEqual([false, 401])
  expect(await askBeforeSending(ADMIN_TOKEN)).toEqual([true, 201])
})
