import { expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { createMadeSqliteFile } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createAdminToken } from './admin-tokens.ts'
import { KnownTokens } from './known-tokens.ts'
import { IDS } from './testing/place.ts'

test('a token whose revocation the database has lost is refused before it is revoked again', async () => {
  const database = await createMadeSqliteFile()
  const store = await openStore({ url: database.url })
  const parts = { db: store.db, clock: systemClock }
  const revoked = new Set<string>()
  const tokens = new KnownTokens({
    ...parts,
    hasRevoked: (adminTokenId) => revoked.has(adminTokenId),
    onFailure: () => {},
  })
  const { adminToken, text } = await createAdminToken(
    { ...parts, ids: IDS },
    { name: 'shop', scopes: ['read'], expiresAtMs: null, madeBy: null, by: null },
  )
  expect(await tokens.find(text)).toMatchObject({ id: adminToken.id })
  revoked.add(adminToken.id)
  expect(await tokens.find(text)).toBeNull()
  await store.close()
  await database.remove()
})
