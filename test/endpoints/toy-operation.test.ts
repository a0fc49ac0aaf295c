import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandLine, openCommandLine } from '../../src/cli/testing/command-line.ts'
import { errorOf, Management, refusal } from './management.ts'
import { objectAt } from './openapi-reading.ts'
import { TOY_COMMANDS, TOY_PATHS, WITH_TOY } from './toy-operation.ts'

/** An operation is a file that is handed in: all that operations have follows from it. */

let line: CommandLine
let accountId: string
let path: string

const admin = Management.ofFile({ operations: WITH_TOY })
beforeAll(async () => {
  const storeUrl = `sqlite:${join(admin.world.folder, 'store.db')}`
  line = openCommandLine({ storeUrl }, TOY_COMMANDS)
  accountId = await admin.account()
  path = `/v1/admin/accounts/${accountId}/toys`
})
afterAll(async () => {
  line.close()
})

test('it has a route for each kind of caller that it names', async () => {
  const added = await admin.post(path, { name: ' bear ' })
  expect([added.httpStatus, added.json]).toEqual([
    201,
    { object: 'toy', account: accountId, name: 'bear' },
  ])
  const counted = { object: 'toys', account: accountId, count: 1 }
  expect((await admin.get(path)).json).toEqual(counted)
  const { text: apiKey } = await admin.apiKey(accountId)
  expect((await admin.get('/v1/toys', apiKey)).json).toEqual(counted)
})

test("a key reads only its own account, and can't call the admins' operation by either path", async () => {
  const other = await admin.apiKey(await admin.account())
  expect((await admin.get('/v1/toys', other.text)).json).toMatchObject({ count: 0 })
  for (const method of ['GET', 'POST'] as const) {
    const asKey = await admin.call({ method, path, body: { name: 'bear' }, token: other.text })
    expect(asKey).toEqual(refusal(401, 'invalid_admin_token'))
  }
  const posted = await admin.call({ method: 'POST', path: '/v1/toys', token: other.text })
  expect(posted).toEqual(refusal(404, 'not_found'))
})

test('the caller is checked before anything else', async () => {
  for (const token of [null, 'another']) {
    const refused = await admin.call({ method: 'POST', path, body: 'no JSON', token })
    expect(refused).toEqual(refusal(401, 'invalid_admin_token'))
  }
  expect(await admin.get('/v1/toys', null)).toEqual(refusal(401, 'missing_api_key'))
})

test.each([
  [{}, 'name'],
  [{ name: '' }, 'name'],
  [{ name: 7 }, 'name'],
  [{ name: 'a\u0007b' }, 'name'],
  [{ name: 'bear', colour: 'brown' }, 'colour'],
])('its schema refuses %j', async (body, param) => {
  expect(await admin.post(path, body)).toEqual(refusal(400, 'invalid_parameter', param))
})

test('an ID that is unknown, or that a store cannot keep, is 404', async () => {
  for (const id of ['acct_0', '%00', 'acct_%00']) {
    const { httpStatus, json } = await admin.post(`/v1/admin/accounts/${id}/toys`, { name: 'bear' })
    expect([httpStatus, json], id).toEqual([404, errorOf('not_found')])
  }
})

test('the documents list it for each kind of caller, with its title', async () => {
  const { json } = await admin.get('/openapi.json', null)
  const paths = objectAt(json, 'paths')
  expect(objectAt(paths, TOY_PATHS.admin, 'post')).toMatchObject({
    operationId: 'addToy',
    tags: ['Admin: Toys'],
    security: [{ adminToken: [] }],
    requestBody: { content: { 'application/json': { example: { name: 'bear' } } } },
  })
  expect(objectAt(paths, TOY_PATHS.admin, 'get')).toMatchObject({ operationId: 'countToys' })
  expect(objectAt(paths, TOY_PATHS.key, 'get')).toMatchObject({
    operationId: 'countToysByKey',
    tags: ['Key and account'],
    security: [{ key: [] }, { keyHeader: [] }],
  })
})

test('its command runs it on the store, with --json and as text, with the same rules', async () => {
  expect(await line.json('toy', 'add', accountId, '--name', 'bear')).toEqual({
    object: 'toy',
    account: accountId,
    name: 'bear',
  })
  expect(await line.run('toy', 'add', accountId, '--name', 'bear')).toEqual({
    exitCode: 0,
    out: 'added bear\n',
    notes: '',
  })
  expect(await line.run('toy', 'add', accountId)).toMatchObject({
    exitCode: 2,
    notes: expect.stringContaining('`--name` is required'),
  })
  expect(await line.run('toy', 'count', 'acct_0')).toEqual({
    exitCode: 3,
    out: '',
    notes: 'tollgate: No account has the ID "acct_0". `tollgate account list` shows the IDs.\n',
  })
})
