import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { Management, refusal, textOf } from './management.ts'

let accountId: string
let apiKey: string

const admin = Management.ofEach()
beforeEach(async () => {
  accountId = await admin.account(10_000_000)
  apiKey = (await admin.apiKey(accountId)).text
})

const turn = (enabled: boolean) =>
  admin.call({ method: 'PUT', path: '/v1/admin/maintenance', body: { enabled } })

test('during maintenance inference answers 503, and all other operations work as usual', async () => {
  expect((await admin.get('/v1/admin/maintenance')).json).toEqual({
    object: 'maintenance',
    enabled: false,
  })
  expect(await turn(true)).toMatchObject({ httpStatus: 200, json: { enabled: true } })
  for (const path of ['chat/completions', 'completions', 'responses', 'embeddings', 'images']) {
    const answer = await admin.call({
      method: 'POST',
      path: `/v1/${path}`,
      body: {},
      token: apiKey,
    })
    expect(answer).toEqual(refusal(503, 'service_unavailable'))
  }
  const message = { method: 'POST', path: '/v1/messages', body: {}, token: apiKey } as const
  expect(await admin.call(message)).toMatchObject({
    httpStatus: 503,
    json: { type: 'error', error: { type: 'overloaded_error' } },
  })
  expect((await admin.get('/v1/key', apiKey)).httpStatus).toBe(200)
  expect((await admin.get('/v1/models', null)).httpStatus).toBe(200)
  expect((await admin.get('/v1/admin/requests')).json).toMatchObject({ data: [] })
  await turn(false)
  expect((await admin.chat(apiKey)).httpStatus).toBe(200)
})

test('requests that run when maintenance begins continue to their end', async () => {
  admin.world.simulator.script({ hold: 'beforeHeaders' })
  const running = admin.chat(apiKey)
  await admin.world.simulator.gate().arrived()
  await turn(true)
  admin.world.simulator.gate().release()
  expect((await running).httpStatus).toBe(200)
})

test('the audit counts the checked rows, and finds inexact ones', async () => {
  await admin.chat(apiKey)
  await admin.world.gateway.settled()
  const { json: listed } = await admin.get('/v1/admin/requests')
  const [request] = Array.isArray(listed['data']) ? listed['data'] : []
  expect((await admin.get('/v1/admin/audit')).json).toEqual({
    object: 'audit',
    ok: true,
    checked: { accounts: 1, keys: 1, requests: 1, entries: 2, codes: 0, purchases: 0 },
    newest_request: { id: request.id, opened_at: request.opened_at },
    went_back: [],
    differences: [],
  })
  await sql`update accounts set backed_balance_micros = backed_balance_micros + 1`.execute(
    admin.world.gateway.store.db,
  )
  const { json } = await admin.get('/v1/admin/audit')
  const { json: account } = await admin.get(`/v1/admin/accounts/${accountId}`)
  const stored = Object(Object(account['credit']).backed).balance
  expect(json).toMatchObject({
    ok: false,
    differences: [
      { what: 'accounts.backed_balance_micros', id: accountId, stored, recomputed: stored - 1 },
    ],
  })
})

test('an audit that finds a difference is reported to webhooks, and answered even if the report fails', async () => {
  const { db } = admin.world.gateway.store
  await admin.post('/v1/admin/webhooks', { url: 'https://receiver.example/' })
  await sql`update accounts set backed_balance_micros = backed_balance_micros + 1`.execute(db)
  const audit = async () => (await admin.get('/v1/admin/audit')).json
  expect(await audit()).toMatchObject({ ok: false })
  const sent = db.selectFrom('webhook_deliveries').select('event')
  expect(await sent.execute()).toEqual([{ event: 'audit.difference' }])
  await db.schema.dropTable('webhook_conditions').execute()
  expect(await audit()).toMatchObject({ ok: false })
})

test('a refresh of the catalog reports its models, and one that fails keeps the earlier ones', async () => {
  const path = '/v1/admin/catalog/refresh'
  const refreshed = await admin.post(path, '')
  expect(refreshed).toMatchObject({
    httpStatus: 200,
    json: { object: 'catalog_refresh', stored: true, doubted: [], failed: [] },
  })
  const models = Number(refreshed.json['models'])
  admin.world.simulator.script({ path: '/models', status: 500 })
  const failed = await admin.post(path, '')
  expect(failed).toEqual(refusal(502, 'upstream_error'))
  expect(textOf(Object(failed.json['error']), 'message')).toBe(
    'The catalog could not be refreshed and is unchanged. openrouter: the upstream answers 500 to its list of models.',
  )
  const { json } = await admin.get('/v1/models', null)
  expect(json['data']).toHaveLength(models)
})
