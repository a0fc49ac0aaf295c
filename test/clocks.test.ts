import { expect, test } from 'vitest'
import { rotateApiKey } from '../src/ledger/api-keys.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { worldOfFile } from './world.ts'

const HOUR_MS = 3_600_000

/** A gateway whose machine's clock is an hour ahead of that of the database. */
const world = worldOfFile({
  database: createPostgresDatabase,
  clock: { nowMs: () => Date.now() + HOUR_MS },
})

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
