import { type Dispatcher, request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/json/walk.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { ROWS } from '../contract/rows.ts'
import { ADA, inviteGuest, setUpOperator } from '../page/page-client.ts'
import { ENDPOINTS } from './endpoints.ts'
import { ADMIN_TOKEN, Management, textOf } from './management.ts'
import {
  type DocumentOperation,
  defaultsOfChanges,
  faultsOf,
  misdescribedIn,
  objectAt,
  operationsOf,
  refsOf,
  silentNullsIn,
  undescribedIn,
} from './openapi-reading.ts'
import { WITH_TOY } from './toy-operation.ts'

let document: JsonObject
let apiKey: string
/** The values of the parameters of a path. */
let params: Record<string, string>

const admin = Management.ofFile({ operations: WITH_TOY, mode: 'simulator' })
beforeAll(async () => {
  admin.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  document = (await admin.get('/openapi.json', null)).json
  const accountId = await admin.account(1_000_000_000)
  const { id: keyId, text } = await admin.apiKey(accountId)
  apiKey = text
  const code = await admin.post('/v1/admin/codes', { amount: 5 })
  const token = await admin.post('/v1/admin/tokens', { name: 'shop', scopes: ['read'] })
  const webhook = await admin.post('/v1/admin/webhooks', { url: 'https://example.org/' })
  await setUpOperator(admin.world)
  const lin = await inviteGuest(admin.world, {
    email: 'lin@example.org',
    accountId,
    role: 'member',
  })
  const { headers } = await admin.chat(apiKey)
  await admin.world.gateway.settled()
  params = {
    account_id: accountId,
    key_id: keyId,
    code_id: textOf(code.json, 'id'),
    token_id: textOf(token.json, 'id'),
    webhook_id: textOf(webhook.json, 'id'),
    user_id: textOf(Object((await lin.get('me')).json['user']), 'id'),
    request_id: String(headers['x-request-id']),
    author: 'sim',
    name: 'text',
    id: 'key_1',
    code: textOf(code.json, 'code'),
  }
})

/** The bodies of operations that take one. */
const BODIES: Readonly<Record<string, () => object>> = {
  ...Object.fromEntries(ROWS.map(({ endpoint, body }) => [`create_${endpoint}`, () => body])),
  addToy: () => ({ name: 'bear' }),
  createAccount: () => ({ name: 'Ada', email: null }),
  changeAccount: () => ({ name: 'Ada L.' }),
  addCredit: () => ({ kind: 'backed', amount: 7, reference: 'documented' }),
  createKey: () => ({ name: 'laptop', credit_limit: 5 }),
  changeKey: () => ({ name: 'desk' }),
  rotateKey: () => ({ grace_seconds: 60 }),
  changeMember: () => ({ role: 'owner' }),
  createCode: () => ({ amount: 5, expires_at: '2999-01-01T00:00:00Z' }),
  redeemCode: () => ({ code: params['code'] }),
  settleRequest: () => ({ cost: '0.000123' }),
  setMaintenance: () => ({ enabled: false }),
  createPurchase: () => ({ method: 'card', amount: 25_000_000 }),
  dismissPurchase: () => ({ note: 'paid back' }),
  createInvitation: () => ({ email: 'eve@example.org', account_id: params['account_id'] }),
  createResetLink: () => ({ email: ADA.email }),
  removeUser: () => ({ email: 'eve@example.org' }),
  createWebhook: () => ({ url: 'https://example.org/', events: ['balance.low'] }),
  changeWebhook: () => ({ disabled: true }),
  createAdminToken: () => ({ name: 'shop', scopes: ['read'], expires_in_seconds: 60 }),
}

/** Called last: they change things that other operations read. */
const LAST = ['deleteKey', 'deleteWebhook']

const QUERIES: Readonly<Record<string, () => string>> = {
  getCreditQuote: () => '?amount=10000000',
  getGeneration: () => `?id=${params['request_id']}`,
}

/** By position: the operation, who asks, and its query, if it is not the usual one. */
async function call(
  { name, method, path }: DocumentOperation,
  token: string | null,
  query = QUERIES[name]?.() ?? '',
) {
  const place = path.replace(/\{(\w+)\}/g, (_, param: string) => params[param] ?? '')
  const body = BODIES[name]?.()
  const answer = await request(admin.world.url(`${place}${query}`), {
    method: method as Dispatcher.HttpMethod,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { httpStatus: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

type Called = Awaited<ReturnType<typeof call>>

/** Holds an answer to what the document says of the operation. */
function expectDocumented(
  operation: DocumentOperation,
  { httpStatus, headers, text }: Called,
): void {
  const responses = objectAt(operation.json, 'responses')
  const response = objectAt(responses, String(httpStatus))
  const mediaType = String(headers['content-type']).split(';')[0] ?? ''
  const schema = objectAt(response, 'content', mediaType, 'schema')
  expect(faultsOf(JSON.parse(text), { schema, document }), `${operation.name}: ${text}`).toEqual([])
  for (const name of Object.keys(objectAt(response, 'headers'))) {
    expect(headers[name], `${operation.name} ${name}`).toBeDefined()
  }
}

test('the document is whole: refs resolve, names are unique, parameters are described', () => {
  expect(document['openapi']).toBe('3.1.1')
  const schemas = Object.keys(objectAt(document, 'components', 'schemas'))
  const refs = refsOf(document)
  expect(refs.length).toBeGreaterThan(0)
  for (const ref of refs) expect(schemas).toContain(ref.replace('#/components/schemas/', ''))
  const operations = operationsOf(document)
  const names = operations.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  for (const { path, json } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const parameters = Array.isArray(json['parameters']) ? json['parameters'] : []
    const named = parameters.flatMap((each) =>
      isJsonObject(each) && each['in'] === 'path' ? [each['name']] : [],
    )
    expect(named, path).toEqual(inPath)
  }
})

test('every parameter and every field has a description', () => {
  const { paths = null, components = null } = document
  // OpenRouter's documents describe the fields of its layout.
  const ours = undescribedIn({ paths, components }).filter(
    (place) => !/^\/components\/schemas\/(?:Generation|OwnKey)\/data/.test(place),
  )
  expect(ours).toEqual([])
})

test('each query parameter has its own description: no two have the same text', () => {
  for (const { name, json } of operationsOf(document)) {
    const parameters = Array.isArray(json['parameters']) ? json['parameters'] : []
    const texts = parameters.map((each) => textOf(Object(each), 'description'))
    expect([name, ...texts.filter((text, at) => texts.indexOf(text) !== at)]).toEqual([name])
  }
})

test('every text is a sentence, and agrees with the type that it describes', () => {
  expect(misdescribedIn(document)).toEqual([])
  expect(defaultsOfChanges(document)).toEqual([])
})

test('every field that can be null says what null means', () => {
  expect(silentNullsIn(document)).toEqual([])
  const time = { anyOf: [{ type: 'string', description: 'A time.' }, { type: 'null' }] }
  expect(silentNullsIn({ properties: { time } })).toEqual([' time'])
})

test('a text that contradicts its field is found: a count of a list, a null that never occurs, a default of a change', () => {
  const list = { type: 'array', description: 'The number of keys.' }
  const time = { type: 'string', description: 'When it expires; null: never.' }
  const orNull = { anyOf: [time, { type: 'null' }] }
  const label = { type: 'string', description: 'key_…' }
  const properties = { list, time, orNull, label }
  expect(misdescribedIn({ properties })).toEqual([
    '/properties/list is a list: The number of keys.',
    '/properties/time is never null: When it expires; null: never.',
    '/properties/label is no sentence: key_…',
  ])
  const name = { type: 'string', description: 'A name. Default: none.' }
  const content = { 'application/json': { schema: { properties: { name } } } }
  const patch = { operationId: 'changeKey', requestBody: { content } }
  expect(defaultsOfChanges({ paths: { '/key': { patch } } })).toEqual(['changeKey name'])
})

test('every path of the contract is in the document, and none that is absent', () => {
  const documented = operationsOf(document).map(({ method, path }) => {
    const pattern = path.replace(/\{\w+\}/g, '[^/]+')
    return { method, matches: new RegExp(`^${pattern}$`) }
  })
  for (const { method, path, access } of ENDPOINTS) {
    // Absent only where admins have no token.
    if (path.startsWith('/v1/admin/')) continue
    // Absent only where nothing is sold.
    if (path.startsWith('/v1/credit')) continue
    const found = documented.some((each) => each.method === method && each.matches.test(path))
    expect(found, `${method} ${path}`).toBe(access !== 'absent')
  }
})

test('every operation answers as documented, and each one with a body has an example', async () => {
  const operations = operationsOf(document)
  const ordered = [
    ...operations.filter(({ name }) => !LAST.includes(name)),
    ...operations.filter(({ name }) => LAST.includes(name)),
  ]
  expect(operations.length).toBeGreaterThan(35)
  for (const operation of ordered) {
    expect(BODIES[operation.name] !== undefined, operation.name).toBe(
      'requestBody' in operation.json,
    )
    // Only a code that was not redeemed can be revoked.
    if (operation.name === 'revokeCode') {
      params['code_id'] = textOf((await admin.post('/v1/admin/codes', { amount: 5 })).json, 'id')
    }
    if (operation.name === 'withdrawInvitation') {
      await admin.post('/v1/admin/invitations', { email: 'late@example.org', operator: true })
      const open = await admin.get('/v1/admin/invitations')
      params['invitation_id'] = String(Object(open.json['data'])[0].id)
    }
    if (['getPurchase', 'creditPurchase', 'dismissPurchase'].includes(operation.name)) {
      const held = {
        kind: 'hold',
        reason: 'paid in another currency',
        worthMicros: micros(25_000_000),
      } as const
      params['purchase_id'] = await admin.world.purchase(params['account_id'] ?? '', held)
    }
    const called = await call(
      operation,
      operation.path.startsWith('/v1/admin') ? ADMIN_TOKEN : apiKey,
    )
    const succeeds = operation.json['deprecated'] !== true
    expect(called.httpStatus < 300, `${operation.name}: ${called.text}`).toBe(succeeds)
    expectDocumented(operation, called)
  }
})

test('an empty body is read as {} exactly by the operations whose body is not required', async () => {
  const { text: freshKey } = await admin.apiKey(params['account_id'] ?? '')
  const optional: string[] = []
  for (const { name, method, path, json } of operationsOf(document)) {
    if (!('requestBody' in json)) continue
    const token = path.startsWith('/v1/admin') ? ADMIN_TOKEN : freshKey
    const place = path.replace(/\{(\w+)\}/g, (_, param: string) => params[param] ?? '')
    const answer = await request(admin.world.url(place), {
      method: method as Dispatcher.HttpMethod,
      headers: { authorization: `Bearer ${token}` },
    })
    const isRefused = (await answer.body.text()).includes('The body is empty')
    expect(objectAt(json, 'requestBody')['required'], name).toBe(isRefused)
    if (!isRefused) optional.push(name)
  }
  expect(optional).toContain('rotateKey')
  expect(optional).not.toContain('createKey')
  // A change whose body was lost on the way is refused.
  expect(optional).not.toContain('changeKey')
})

test('every operation that takes the format csv answers with CSV, and says that it does', async () => {
  const named: string[] = []
  const { text: freshKey } = await admin.apiKey(params['account_id'] ?? '')
  for (const operation of operationsOf(document)) {
    if (!JSON.stringify(operation.json['parameters'] ?? []).includes('"csv"')) continue
    named.push(operation.name)
    const token = operation.path.startsWith('/v1/admin') ? ADMIN_TOKEN : freshKey
    const { httpStatus, headers, text } = await call(operation, token, '?format=csv')
    expect(httpStatus, text).toBe(200)
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    const success = objectAt(operation.json, 'responses', '200')
    expect(Object.keys(objectAt(success, 'content'))).toEqual(['application/json', 'text/csv'])
  }
  expect(named.length).toBeGreaterThan(2)
})

test('every operation that needs a key or a token refuses as documented without it', async () => {
  for (const operation of operationsOf(document)) {
    const called = await call(operation, null)
    const isAsked = Array.isArray(operation.security) && operation.security.length > 0
    if (isAsked) expect(called.httpStatus, operation.name).toBe(401)
    else expect(called.httpStatus, operation.name).not.toBe(401)
    expectDocumented(operation, called)
  }
})

test('the check finds a wrong answer', () => {
  const schema = objectAt(document, 'components', 'schemas', 'Account')
  const account = { id: 'acct_1', object: 'account', name: 'x' }
  expect(faultsOf(account, { schema, document })).not.toEqual([])
  const open = { type: 'object', properties: { id: { type: 'string' } } }
  expect(faultsOf({ id: 'x' }, { schema: open, document })).toEqual([])
  expect(faultsOf({ id: 'x', other: 1 }, { schema: open, document })).not.toEqual([])
})
