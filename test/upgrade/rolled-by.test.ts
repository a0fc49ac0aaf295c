import { afterEach, beforeEach, expect, test } from 'vitest'
import { MIGRATIONS, PROGRAM_SCHEMA } from '../../src/store/migrations/migrations.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'
import { UsageRoller } from '../../src/usage/usage-roller.ts'
import { firstIdOf } from '../../src/vocabulary/ids.ts'
import { insertBefore, openStoreBefore } from './store-before.ts'

/** A gateway that was frozen while its PostgreSQL store was migrated rolls nothing up after that. */

const NOW_MS = Date.parse('2026-03-05T12:00:00Z')
const HOUR = { step: 'hour', requests: 0, rolled_at_ms: 0 }
const NEXT = { number: PROGRAM_SCHEMA + 1, name: 'next', up: async () => {} }

let database: TestDatabase
let stores: Store[]

beforeEach(async () => {
  database = await createPostgresDatabase()
  stores = []
})
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await database.remove()
})

async function opened(opening: Promise<Store>): Promise<Store> {
  const store = await opening
  stores.push(store)
  return store
}

async function marks({ db }: Store): Promise<readonly number[]> {
  const rows = await db.selectFrom('usage_rolled').select('number').orderBy('number').execute()
  return rows.map(({ number }) => number)
}

test('a release from before this migration cannot mark an hour as rolled up, and its earlier roll-ups stay', async () => {
  const before = await opened(openStoreBefore(database, 41))
  await insertBefore(before, 'usage_rolled', [{ ...HOUR, number: 1 }])
  const store = await opened(openStore({ url: database.url, migrateStore: 'always' }))
  await expect(insertBefore(before, 'usage_rolled', [{ ...HOUR, number: 2 }])).rejects.toThrow(
    'usage_rolled_program_schema',
  )
  expect(await marks(store)).toEqual([1])
})

test('this release cannot either after a later one has migrated the store', async () => {
  const store = await opened(openStore({ url: database.url }))
  await insertBefore(store, 'requests', [
    {
      id: `${firstIdOf({ prefix: 'req', timeMs: NOW_MS - 10 * 3_600_000 })}0000000000000001`,
      ...{ account_id: 'A', api_key_id: 'K', instance_id: 'I', endpoint: 'chat', upstream: 'one' },
      ...{ model_id: 'm', stream: 0, state: 'final', error_code: 'upstream_error' },
      ...{ price_snapshot_id: 'p', opened_at_ms: 0, settled_at_ms: 0 },
    },
  ])
  const migrations = [...MIGRATIONS, NEXT]
  await opened(openStore({ url: database.url, migrations, migrateStore: 'always' }))
  const roller = new UsageRoller({
    ...{ store, clock: { nowMs: () => NOW_MS } },
    ...{ onRolled() {}, onLate() {}, onFailure() {}, pause: async () => {} },
  })
  await expect(roller.pass()).rejects.toThrow('usage_rolled_program_schema')
  expect(await marks(store)).toEqual([])
})
