import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRewoundDatabase } from '../src/store/testing/rewound-database.ts'
import { Management } from './endpoints/management.ts'
import { setUpOperator } from './page/page-client.ts'
import { tollgate } from './tollgate-process.ts'

const METRICS_TOKEN = 'metrics-token'

test('a database that went back is reported by the log, readiness, Health, metrics, a webhook and the audit, and no answered request is gone', async () => {
  const database = await createRewoundDatabase()
  const settings = {
    DATABASE_URL: database.url,
    METRICS_TOKEN,
    // Requests are sent until one is answered: a limit of the key would make the rest of a minute of them refusals.
    TOLLGATE_REQUESTS_PER_MINUTE: '1000000',
  }
  const admin = await Management.start({ settings })
  const { world } = admin
  const accountId = await admin.account(10_000_000)
  const { text: apiKey } = await admin.apiKey(accountId)
  const operator = await setUpOperator(world)
  await admin.post('/v1/admin/webhooks', {
    url: 'https://receiver.invalid/',
    events: ['store.went_back'],
  })
  expect((await admin.chat(apiKey)).httpStatus).toBe(200)
  await world.gateway.settled()
  await database.keep()
  // The first requests may still be sent on the connection that was cut.
  const answered: string[] = []
  while (answered.length < 3) {
    const { httpStatus, headers } = await admin.chat(apiKey)
    if (httpStatus === 200) answered.push(String(headers['x-request-id']))
    else expect(httpStatus).toBe(503)
  }
  await world.gateway.settled()
  const rowsOf = () =>
    world.gateway.store.db
      .selectFrom('all_requests')
      .select(['id', 'state', 'cost_usd'])
      .where('id', 'in', answered)
      .orderBy('id')
      .execute()
  const before = await rowsOf()
  expect(before).toHaveLength(3)

  await database.goBack()
  await expect.poll(() => admin.chat(apiKey)).toMatchObject({ httpStatus: 200 })
  const line = JSON.parse(await world.logged('the database went back'))
  const words =
    /^the database went back: \d+ commits of [\d.]+ s were gone; 3 requests \(\$0\.\d+\) and 0 other commands are booked again, 0 are lost$/
  expect(line).toMatchObject({
    level: 50,
    requests: 3,
    commands: 0,
    lost: 0,
    msg: expect.stringMatching(words),
  })
  expect(await rowsOf()).toEqual(before)

  const check = { name: 'store', ok: true, message: `${line.msg}.` }
  expect((await admin.get('/readyz', null)).json['checks']).toContainEqual(check)
  expect((await operator.get('operator/health')).json['checks']).toContainEqual(check)

  const metrics = await (
    await fetch(world.url('/metrics'), { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  ).text()
  expect(metrics).toContain('\ntollgate_store_went_back_total 1\n')
  expect(metrics).toContain('\ntollgate_commands_rebooked_total{outcome="booked"} 3\n')
  expect(metrics).toContain('\ntollgate_commands_rebooked_total{outcome="lost"} 0\n')

  const audit = async () => (await admin.get('/v1/admin/audit')).json
  const row = { requests: 3, commands: 0, lost: 0, instance_id: line.instanceId }
  await expect.poll(audit).toMatchObject({ ok: true, went_back: [row] })
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-went-back-'))
  const printed = await tollgate(['audit'], { folder, env: { DATABASE_URL: database.url } })
  expect(printed).toMatchObject({ code: 0 })
  expect(printed.out).toMatch(
    /\nthe database went back, found .+ 3 requests \(\$0\.\d+\) and 0 other commands are booked again, 0 are lost$/m,
  )

  const sent = () =>
    world.gateway.store.db.selectFrom('webhook_deliveries').select(['event', 'body']).execute()
  await expect.poll(sent).toMatchObject([{ event: 'store.went_back' }])
  const [{ body } = { body: '' }] = await sent()
  expect(JSON.parse(String(body))).toMatchObject({ type: 'store.went_back', data: row })

  await admin.close()
  await database.remove()
  rmSync(folder, { recursive: true })
})
