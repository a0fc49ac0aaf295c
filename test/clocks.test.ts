import { expect, test } from 'vitest'
import { rotateApiKey } from '../src/ledger/api-keys.ts'
import { lockWaits } from '../src/store/testing/lock-waits.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { HOUR_MS } from '../src/vocabulary/clock.ts'
import { Management, textOf } from './endpoints/management.ts'
import { startWorld } from './world.ts'

const AHEAD = { nowMs: () => Date.now() + HOUR_MS }

/** A gateway whose machine's clock is an hour ahead of that of the database. */
const admin = Management.ofFile({ database: createPostgresDatabase, clock: AHEAD })
const { world } = admin

async function keyWithId() {
  const { id, apiKey } = await world.account()
  const rows = world.gateway.store.db.selectFrom('api_keys').select('id')
  const row = await rows.where('account_id', '=', id).executeTakeFirstOrThrow()
  return { apiKeyId: row.id, apiKey }
}

test('a key works until its expiry by the clock of the database', async () => {
  const { apiKeyId, apiKey } = await keyWithId()
  const { ledger } = world.gateway
  await ledger.updateApiKey({ id: apiKeyId, expiresAtMs: Date.now() + HOUR_MS / 2 })
  expect((await world.chat(apiKey)).status).toBe(200)
})

test('the previous text of a rotated key works until the end of its grace by the clock of the database', async () => {
  const { apiKeyId, apiKey } = await keyWithId()
  const { ledger } = world.gateway
  await rotateApiKey(ledger, { apiKeyId, keyTag: 'tollgate', graceMs: HOUR_MS / 2 }, null)
  expect((await world.chat(apiKey)).status).toBe(200)
})

test('credit and codes can expire at any time that the clock of the database has yet to reach', async () => {
  const { id } = await world.account()
  const expires_at = new Date(Date.now() + HOUR_MS / 2).toISOString()
  const free = { kind: 'free', amount: 1_000, expires_at, reference: 'gift' }
  expect((await admin.post(`/v1/admin/accounts/${id}/credit`, free)).httpStatus).toBe(201)
  expect((await admin.post('/v1/admin/codes', { amount: 1_000, expires_at })).httpStatus).toBe(201)
})

test('free credit that expires while it waits for its account is refused with the reason', async () => {
  const { id } = await world.account()
  const { db } = world.gateway.store
  const expiresAtMs = Date.now() + 1_000
  const expires_at = new Date(expiresAtMs).toISOString()
  const free = { kind: 'free', amount: 1_000, expires_at, reference: 'late' }
  const { added } = await db.transaction().execute(async (trx) => {
    await trx.updateTable('accounts').set({ name: 'locked' }).where('id', '=', id).execute()
    const added = admin.post(`/v1/admin/accounts/${id}/credit`, free)
    while (Date.now() <= expiresAtMs) await lockWaits(db, 0)
    return { added }
  })
  const { httpStatus, json } = await added
  expect(httpStatus).toBe(400)
  expect(json).toMatchObject({ error: { message: '`expires_at` must be in the future.' } })
})

test('a webhook gets events from its creation on, and a test message is due at once', async () => {
  const made = await admin.post('/v1/admin/webhooks', { url: 'https://example.org/' })
  const path = `/v1/admin/webhooks/${textOf(made.json, 'id')}/test`
  const sent = await admin.post(path, {})
  for (const { json } of [made, sent]) {
    expect(Date.parse(textOf(json, 'created_at'))).toBeLessThan(Date.now() + HOUR_MS / 2)
  }
})

test('the marks of a gateway that has stopped stay for 30 days by the clock of the database', async () => {
  const { db } = world.gateway.store
  const stoppedAtMs = Date.now() - 30 * 24 * HOUR_MS
  for (const [id, atMs] of [
    ['inst_stays', stoppedAtMs + HOUR_MS / 2],
    ['inst_goes', stoppedAtMs - HOUR_MS / 2],
  ] as const) {
    const times = { started_at_ms: atMs, heartbeat_at_ms: atMs, stopped_at_ms: atMs }
    await db
      .insertInto('instances')
      .values({ id, ...times, program_schema: 1 })
      .execute()
    await db.insertInto('commit_marks').values({ instance_id: id, commits: 1 }).execute()
  }
  const { DATABASE_URL } = world.config
  const beside = await startWorld({
    settings: { DATABASE_URL: String(DATABASE_URL) },
    clock: AHEAD,
  })
  const marks = await db.selectFrom('commit_marks').select('instance_id').execute()
  const kept = marks.map((mark) => mark.instance_id)
  expect(kept).toContain('inst_stays')
  expect(kept).not.toContain('inst_goes')
  await beside.close()
})
