import { describe, expect, onTestFinished, test } from 'vitest'
import { openCommandLine } from '../../src/cli/testing/command-line.ts'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { Management } from './management.ts'

async function start(input: Parameters<typeof Management.start>[0] = {}): Promise<Management> {
  const admin = await Management.start(input)
  onTestFinished(() => admin.close())
  return admin
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  test('an upstream has its requests, errors by code, first byte, list and last failure', async () => {
    const database = await create()
    onTestFinished(() => database.remove())
    const admin = await start({ settings: { DATABASE_URL: database.url } })
    const { text } = await admin.apiKey(await admin.account(5_000_000))
    await admin.chat(text)
    admin.world.simulator.script({ path: '/chat/completions', status: 500 })
    const failed = await admin.chat(text)
    await admin.world.gateway.settled()
    const requests = await admin.get('/v1/admin/requests?state=provisional')
    const [answered] = Object(requests.json['data'])
    expect(Number(answered.provider_cost)).toBeGreaterThan(0)
    const { httpStatus, json } = await admin.get('/v1/admin/upstreams')
    expect([httpStatus, json['data']]).toEqual([
      200,
      [
        {
          object: 'upstream',
          name: 'openrouter',
          dialect: 'openrouter',
          state: 'healthy',
          models: expect.any(Number),
          requests: 2,
          failed: 1,
          errors: [{ code: 'upstream_error', requests: 1 }],
          cost: Math.round(Number(answered.provider_cost) * 1e6),
          first_byte_ms: expect.any(Number),
          in_flight: 0,
          in_flight_max: null,
          listed_at: expect.any(String),
          last_failure: {
            request_id: failed.headers['x-request-id'],
            code: 'upstream_error',
            http_status: 502,
            model: 'sim/text',
            at: expect.any(String),
          },
        },
      ],
    ])
  })
})

test('a refused key is the state of its upstream, without the key, the address or a text of the provider', async () => {
  const admin = await start()
  const { text } = await admin.apiKey(await admin.account(5_000_000))
  admin.world.simulator.script({ path: '/chat/completions', status: 401 })
  await admin.chat(text)
  await admin.world.gateway.settled()
  const { json } = await admin.get('/v1/admin/upstreams')
  expect(json['data']).toMatchObject([{ state: 'key_refused' }])
  const answer = JSON.stringify(json)
  for (const secret of ['upstream-key', admin.world.simulator.baseUrl, '127.0.0.1', 'http:']) {
    expect(answer).not.toContain(secret)
  }
})

test('an upstream that refused the key in the last minutes is failing, even for readers that have only the store', async () => {
  const admin = await start()
  const { text } = await admin.apiKey(await admin.account(5_000_000))
  admin.world.simulator.script({ path: '/chat/completions', status: 401, times: 3 })
  for (const _ of [1, 2, 3, 4]) await admin.chat(text)
  await admin.world.gateway.settled()
  // The fourth was accepted.
  const refused = await admin.get('/v1/admin/upstreams')
  expect(refused.json['data']).toMatchObject([{ state: 'failing', requests: 4, failed: 3 }])
  // As if the store had failed before they were forwarded.
  const { db } = admin.world.gateway.store
  await db.updateTable('requests').set({ first_byte_at_ms: null }).execute()
  const unforwarded = await admin.get('/v1/admin/upstreams')
  expect(unforwarded.json['data']).toMatchObject([{ state: 'healthy', requests: 4, failed: 3 }])
})

test('the built-in simulator is not listed as an upstream, nor on the command line', async () => {
  const admin = await start({ mode: 'simulator' })
  const { json } = await admin.get('/v1/admin/upstreams')
  expect(json).toEqual({ object: 'list', data: [], has_more: false, next_cursor: null })
  const line = openCommandLine()
  onTestFinished(() => line.close())
  await line.run('account', 'create', 'one')
  expect(await line.run('upstream', 'list')).toEqual({
    exitCode: 0,
    out: 'The built-in simulator answers. For real models, set UPSTREAM_DIALECT and\nUPSTREAM_API_KEY in .env and restart tollgate: see docs/upstreams.md.\n',
    notes: '',
  })
})
