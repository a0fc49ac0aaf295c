import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { postgresLedger } from '../ledger/engines/create-ledger.ts'
import { USERS } from '../store/people-tables.ts'
import { writeSetting } from '../store/settings.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { makeLink } from './links.ts'
import { changeMember } from './members.ts'
import { remove } from './removal.ts'
import { IDS } from './testing/place.ts'
import { RewoundPlace } from './testing/rewound-place.ts'
import { joinAccount } from './users.ts'

/** Everything that lets a caller in, a line each. */
const GRANTED = [
  `select 'password ' || password_hash from sign_ins where password_hash not like '!%'`,
  `select 'app ' || secret from authenticator_apps`,
  `select 'password alone ' || id from users where id not in (select user_id from authenticator_apps)`,
  `select 'recovery code ' || code_hash from recovery_codes where used_at_ms is null`,
  `select 'link ' || id from links where used_at_ms is null`,
  `select 'session ' || id from sessions`,
  `select 'operator ' || id from users where is_operator = 1`,
  `select 'owner ' || user_id from members where role = 'owner'`,
  `select 'member ' || user_id || created_at_ms from members`,
  `select 'admin token ' || id from admin_tokens where revoked_at_ms is null`,
  `select 'account ' || id from accounts where disabled = 0`,
  `select 'key ' || id from api_keys where disabled = 0 and deleted_at_ms is null`,
  `select 'service' from (select 1) as one where not exists (
    select from settings where name = 'maintenance' and value = 'on')`,
].join(' union all ')

async function granted(world: RewoundPlace): Promise<ReadonlySet<string>> {
  const { rows } = await sql
    .raw<{ readonly grant: string }>(
      `select grants as grant from (${GRANTED}) as all_grants (grants)`,
    )
    .execute(world.db)
  return new Set(rows.map(({ grant }) => grant))
}

const BOB = 'user_bob'

/** Makes Bob a member of the account, whose owner is Ada. */
async function joinBob({ db }: RewoundPlace, role: 'owner' | 'member'): Promise<void> {
  await joinAccount(db, { userId: BOB, accountId: 'acct_1', role, nowMs: Date.now() })
}

type Ledger = ReturnType<typeof postgresLedger>

/** Changes by a number, on whatever the store has at that moment. */
async function change(world: RewoundPlace, ledger: Ledger, step: number): Promise<void> {
  const { place, db } = world
  const parts = { db, clock: systemClock, ids: IDS }
  const userId = place.ada.user.id
  const account = 'acct_1'
  switch (step) {
    case 0: {
      const made = {
        name: 'shop',
        scopes: ['read'],
        expiresAtMs: null,
        madeBy: null,
        by: null,
      } as const
      await createAdminToken(parts, made)
      return
    }
    case 1: {
      const row = await db.selectFrom('admin_tokens').select('id').executeTakeFirst()
      if (row !== undefined) await revokeAdminToken(parts, { adminTokenId: row.id, by: null })
      return
    }
    case 2:
      await ledger.updateAccount({ id: account, disabled: true })
      return
    case 3:
      await ledger.updateAccount({ id: account, disabled: false })
      return
    case 4:
      await ledger.updateApiKey({ id: 'key_1', disabled: true })
      return
    case 5:
      await ledger.updateApiKey({ id: 'key_1', disabled: false })
      return
    case 6:
      await writeSetting(db, { name: 'maintenance', value: 'on' })
      return
    case 7:
      await writeSetting(db, { name: 'maintenance', value: 'off' })
      return
    case 8:
      await joinBob(world, 'member')
      return
    case 9: {
      const removed = { accountId: account, userId: BOB, role: null, ownerId: null }
      await changeMember(parts, removed, null).catch(() => false)
      return
    }
    case 10: {
      const invitation = { email: 'eve@example.org', isOperator: false, membership: null }
      await makeLink(parts, { kind: 'invitation', ...invitation })
      return
    }
    case 11:
      await remove(parts, { email: 'eve@example.org', accountId: null, asOperator: false })
      return
    case 12:
      await place.resetLink()
      return
    case 13: {
      const hash = `${IDS.next('sign').padEnd(32, '0')}:hash`
      await db.updateTable('sign_ins').set({ password_hash: hash }).execute()
      return
    }
    case 14: {
      const kept = { userId, keptSessionId: place.ada.sessionId }
      await place.people.sessions.endOthers(kept)
      return
    }
    case 15:
      await place.addApp()
      return
    case 16: {
      await db.updateTable('recovery_codes').set({ used_at_ms: 1 }).execute()
      return
    }
  }
}

test('access that was taken before a failover that lost it stays taken, in any order of changes', async () => {
  const steps = fc.array(fc.integer({ min: 0, max: 16 }), { minLength: 3, maxLength: 14 })
  const property = fc.asyncProperty(steps, steps, async (before, lost) => {
    const world = await RewoundPlace.open()
    await world.makeAccount()
    const ledger = postgresLedger({ url: world.database.url })
    const key = {
      id: 'key_1',
      accountId: 'acct_1',
      name: 'key',
      keyHash: 'hash',
      displayPrefix: 'sk',
    }
    await ledger.addApiKey(key)
    await ledger.close()
    await world.db
      .insertInto('users')
      .values(
        USERS.record({
          ...USERS.start,
          id: BOB,
          name: 'Bob',
          email: 'bob@example.org',
          createdAtMs: 1,
        }),
      )
      .execute()
    const ada = { userId: world.place.ada.user.id, accountId: 'acct_1', role: 'owner' } as const
    await joinAccount(world.db, { ...ada, nowMs: 1 })
    await joinBob(world, 'owner')
    try {
      const run = async (script: readonly number[]) => {
        const each = postgresLedger({ url: world.database.url })
        for (const step of script) await change(world, each, step)
        await each.close()
      }
      await run(before)
      await world.keep()
      const kept = await granted(world)
      await run(lost)
      const atLoss = await granted(world)
      const gateways = [world.gateway(), world.gateway()]
      for (const gateway of gateways) await gateway.catchUp()
      await world.goBack()
      await Promise.all(gateways.map((gateway) => gateway.catchUp()))
      const after = await granted(world)
      expect(world.failures).toEqual([])
      expect([...after].filter((grant) => kept.has(grant) && !atLoss.has(grant))).toEqual([])
    } finally {
      await world.close()
    }
  })
  await fc.assert(property, { numRuns: 8 })
})
