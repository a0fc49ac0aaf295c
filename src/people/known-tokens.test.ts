import { expect, test } from 'vitest'
import { createMadeSqliteFile, storeOfTest } from '../store/testing/test-databases.ts'
import { HOUR_MS, systemClock } from '../vocabulary/clock.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { KnownTokens } from './known-tokens.ts'
import { IDS } from './testing/place.ts'

test('a token whose revocation the database has lost is refused before it is revoked again', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
  const parts = { db: store.db, clock: systemClock }
  const revoked = new Set<string>()
  const tokens = new KnownTokens({
    ...parts,
    hasRevoked: (adminTokenId) => revoked.has(adminTokenId),
    onGone: async () => {},
    onFailure: () => {},
  })
  const { adminToken, text } = await createAdminToken(
    { ...parts, ids: IDS },
    { name: 'shop', scopes: ['read'], expiresAtMs: null, madeBy: null, by: null },
  )
  expect(await tokens.find(text)).toMatchObject({ id: adminToken.id })
  revoked.add(adminToken.id)
  expect(await tokens.find(text)).toBeNull()
})

test('a token that another process has revoked is refused only when its revocation is remembered', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
  const parts = { db: store.db, clock: systemClock }
  const remembered = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const tokens = new KnownTokens({
    ...parts,
    hasRevoked: () => false,
    onGone: () => {
      gone.resolve()
      return remembered.promise
    },
    onFailure: () => {},
  })
  const { adminToken, text } = await createAdminToken(
    { ...parts, ids: IDS },
    { name: 'shop', scopes: ['read'], expiresAtMs: null, madeBy: null, by: null },
  )
  expect(await tokens.find(text)).toMatchObject({ id: adminToken.id })
  await revokeAdminToken(parts, { adminTokenId: adminToken.id, by: null })
  const reading = tokens.readChanges()
  await gone.promise
  expect(await tokens.find(text)).toMatchObject({ id: adminToken.id })
  remembered.resolve()
  await reading
  expect(await tokens.find(text)).toBeNull()
})

test('a token that has expired is not taken for one that was revoked', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
  let aheadMs = 0
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs }
  const parts = { db: store.db, clock }
  let timesGone = 0
  const tokens = new KnownTokens({
    ...parts,
    hasRevoked: () => false,
    onGone: async () => {
      timesGone++
    },
    onFailure: () => {},
  })
  const expiresAtMs = clock.nowMs() + HOUR_MS
  const { text } = await createAdminToken(
    { ...parts, ids: IDS },
    { name: 'shop', scopes: ['read'], expiresAtMs, madeBy: null, by: null },
  )
  expect(await tokens.find(text)).not.toBeNull()
  aheadMs = HOUR_MS
  expect(await tokens.find(text)).toBeNull()
  expect(timesGone).toBe(0)
})
