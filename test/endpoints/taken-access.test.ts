import { expect, test } from 'vitest'
import { revokeAdminToken } from '../../src/people/admin-tokens.ts'
import { createRewoundDatabase } from '../../src/store/testing/rewound-database.ts'
import { Management, textOf } from './management.ts'

test.each(['this gateway', 'another process'])(
  'a token that %s revoked is refused and revoked again after the database lost the revocation',
  async (by) => {
    const database = await createRewoundDatabase()
    const gateway = await Management.start({ settings: { DATABASE_URL: database.url } })
    try {
      const made = await gateway.post('/v1/admin/tokens', { name: 'shop', scopes: ['read'] })
      const [text, id] = [textOf(made.json, 'token'), textOf(made.json, 'id')]
      const status = async () => (await gateway.get('/v1/admin/accounts', text)).httpStatus
      expect(await status()).toBe(200)
      await database.keep()
      const { db } = gateway.world.gateway.store
      if (by === 'this gateway') {
        await expect
          .poll(() => gateway.call({ method: 'DELETE', path: `/v1/admin/tokens/${id}` }))
          .toMatchObject({ httpStatus: 200 })
      } else {
        const clock = { nowMs: Date.now }
        const revoke = () => revokeAdminToken({ db, clock }, { adminTokenId: id, by: null })
        await expect.poll(() => revoke().catch(() => null)).toMatchObject({ revokedIds: [id] })
        await expect.poll(status, { interval: 100 }).toBe(401)
      }
      await database.goBack()
      await gateway.world.logged('the database had lost the revocation of an admin token: repeated')
      expect(await status()).toBe(401)
      const row = db.selectFrom('admin_tokens').select('revoked_at_ms').where('id', '=', id)
      expect((await row.executeTakeFirstOrThrow()).revoked_at_ms).not.toBeNull()
    } finally {
      await gateway.close()
      await database.remove()
    }
  },
)

test('a call that removes access fails while the gateway could not repeat it after a failover, but its own revoked tokens stay refused', async () => {
  const database = await createRewoundDatabase()
  const gateway = await Management.start({ settings: { DATABASE_URL: database.url } })
  try {
    const made = await gateway.post('/v1/admin/tokens', { name: 'shop', scopes: ['read'] })
    await database.keep()
    const { db } = gateway.world.gateway.store
    // A row that can't be read.
    const impossible = { user_id: '', table_name: '', key_json: '', set_json: null }
    const add = () =>
      db
        .insertInto('taken_access')
        .values({ id: '9', ...impossible, taken_at_ms: 2 ** 60 })
        .execute()
    await expect.poll(() => add().catch(() => null)).not.toBeNull()
    const revoke = () =>
      gateway.call({ method: 'DELETE', path: `/v1/admin/tokens/${textOf(made.json, 'id')}` })
    expect(await revoke()).toMatchObject({ httpStatus: 503 })
    const tokens = await db.selectFrom('admin_tokens').select('revoked_at_ms').execute()
    expect(tokens).not.toContainEqual({ revoked_at_ms: null })
    await database.goBack()
    await gateway.world.logged('the database had lost the revocation of an admin token: repeated')
    await expect.poll(revoke).toMatchObject({ httpStatus: 200 })
  } finally {
    await gateway.close()
    await database.remove()
  }
})
