import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import { createMadeSqliteFile, type TestDatabase } from '../store/testing/test-databases.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { KnownTokens } from './known-tokens.ts'
import { IDS } from './testing/place.ts'

let database: TestDatabase
let store: Store
let nowMs: number
let failures: unknown[]
let revokedAgain: string[]
let tokens: KnownTokens
let made: { readonly id: string; readonly text: string }

beforeEach(async () => {
  database = await createMadeSqliteFile()
  store = await openStore({ url: database.url })
  const { db } = store
  nowMs = 1_800_000_000_000
  failures = []
  revokedAgain = []
  const clock = { nowMs: () => nowMs }
  tokens = new KnownTokens({
    db,
    clock,
    onRevokedAgain: ({ id }) => revokedAgain.push(id),
    onFailure: (cause) => failures.push(cause),
  })
  const { adminToken, text } = await createAdminToken(
    { db, clock, ids: IDS },
    { name: 'shop', scopes: ['read'], expiresAtMs: null, madeBy: null, by: null },
  )
  made = { id: adminToken.id, text }
  expect(await tokens.find(text)).not.toBeNull()
})

afterEach(async () => {
  await store.close()
  await database.remove()
})

const clockOf = () => ({ nowMs: () => nowMs })

async function revoke(): Promise<void> {
  await revokeAdminToken({ db: store.db, clock: clockOf() }, { adminTokenId: made.id, by: null })
  await tokens.readChanges()
  expect(await tokens.find(made.text)).toBeNull()
}

/** Makes the store forget the revocation, and count changes up to another number. */
async function lose(by: number): Promise<void> {
  await sql`update admin_tokens set revoked_at_ms = null`.execute(store.db)
  await sql`update settings set value = cast(value as integer) + ${by} where name = 'callers_version'`.execute(
    store.db,
  )
}

async function isRevoked(): Promise<boolean> {
  const rows = await store.db.selectFrom('admin_tokens').select('revoked_at_ms').execute()
  return rows.every((row) => row.revoked_at_ms !== null)
}

test('a lost revocation is repeated each second until it succeeds, and its token is refused meanwhile', async () => {
  await revoke()
  await lose(1)
  await sql`create trigger no_writes before update of revoked_at_ms on admin_tokens
    begin select raise(abort, 'no writes'); end`.execute(store.db)
  for (let hour = 1; hour <= 3; hour++) {
    const earlier = failures.length
    nowMs += 3_600_000
    await tokens.readChanges()
    await expect.poll(() => failures.length).toBeGreaterThan(earlier)
    expect(await tokens.find(made.text)).toBeNull()
  }
  await sql`drop trigger no_writes`.execute(store.db)
  nowMs += 1_000
  await tokens.readChanges()
  await expect.poll(() => revokedAgain).toEqual([made.id])
  expect([await isRevoked(), await tokens.find(made.text)]).toEqual([true, null])
})

test('a lost revocation is found within a minute although the store counts changes to the same number', async () => {
  await revoke()
  await lose(0)
  nowMs += 60_000
  await tokens.readChanges()
  await expect.poll(() => revokedAgain).toEqual([made.id])
  expect([await isRevoked(), await tokens.find(made.text)]).toEqual([true, null])
})

test('a revocation by this process is known even if the store loses it before it is read again', async () => {
  await tokens.reread(made.id)
  expect(await tokens.find(made.text)).toBeNull()
  await expect.poll(() => revokedAgain).toEqual([made.id])
  expect([await isRevoked(), failures]).toEqual([true, []])
})
