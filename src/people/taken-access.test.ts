import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { postgresLedger } from '../ledger/engines/create-ledger.ts'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import type { Tables } from '../store/schema.ts'
import { createRewoundDatabase, type RewoundDatabase } from '../store/testing/rewound-database.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { makeLink } from './links.ts'
import { changeMember, withdrawInvitation } from './members.ts'
import { remove } from './removal.ts'
import { takenWords } from './take-again.ts'
import { TakenAccess } from './taken-access.ts'
import { ADA, IDS, Place, VISITOR } from './testing/place.ts'
import { joinAccount } from './users.ts'

const HOUR_MS = 3_600_000

let database: RewoundDatabase
let place: Place
let db: Kysely<Tables>
let parts: {
  readonly db: Kysely<Tables>
  readonly clock: typeof systemClock
  readonly ids: typeof IDS
}
let elapsedMs: number
let told: string[]
let failures: unknown[]

beforeEach(async () => {
  database = await createRewoundDatabase()
  place = await Place.open(database.url)
  db = place.store.db
  parts = { db, clock: systemClock, ids: IDS }
  elapsedMs = 0
  told = []
  failures = []
})
afterEach(async () => {
  await place.close()
  await database.remove()
})

/** What a gateway knows of taken access. */
function gateway(): TakenAccess {
  return new TakenAccess({
    ...parts,
    elapsedMs: () => elapsedMs,
    onTakenAgain: (row) => told.push(takenWords(row)),
    onLastOperator: (row) => told.push(`last: ${takenWords(row)}`),
    onFailure: (cause) => failures.push(cause),
  })
}

async function keep(): Promise<void> {
  await database.keep()
  await connected()
}

async function goBack(): Promise<void> {
  await database.goBack()
  await connected()
}

async function connected(): Promise<void> {
  await expect
    .poll(() =>
      sql`select 1`.execute(db).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
}

/** A user who accepted an invitation. */
async function invite(
  email: string,
  invitation: Partial<Parameters<typeof makeLink>[1]> = {},
): Promise<string> {
  const purpose = { kind: 'invitation', email, isOperator: false, membership: null } as const
  const { text } = await makeLink(parts, { ...purpose, ...invitation } as typeof purpose)
  const person = { linkText: text, name: email, password: ADA.password }
  const made = await place.people.acceptInvitation(person, VISITOR)
  const found = await place.people.sessions.find(made.sessionToken)
  return found?.user.id ?? ''
}

async function makeAccount(): Promise<void> {
  const ledger = postgresLedger({ url: database.url })
  await ledger.createAccount({ id: 'acct_1', name: 'Acme' })
  await ledger.close()
}

/** Everything in the store that lets a person in. */
async function access() {
  const read = async (text: string) => (await sql.raw<object>(text).execute(db)).rows
  return {
    operators: await read('select id from users where is_operator = 1 order by id'),
    members: await read('select user_id, role from members order by user_id'),
    signIns: await read('select id, password_hash from sign_ins order by id'),
    apps: await read('select id, secret from authenticator_apps order by id'),
    passkeys: await read('select id from passkeys order by id'),
    recoveryCodes: await read(
      'select code_hash from recovery_codes where used_at_ms is null order by code_hash',
    ),
    sessions: await read('select id from sessions order by id'),
    links: await read('select id from links where used_at_ms is null order by id'),
    adminTokens: await read('select id from admin_tokens where revoked_at_ms is null order by id'),
  }
}

test('all access that was taken is taken again after the database lost that, by any gateway, and the audit log has what operators do', async () => {
  await makeAccount()
  const membership = { accountId: 'acct_1', role: 'owner' } as const
  const eve = await invite('eve@example.org', { isOperator: true, membership })
  const bob = await invite('bob@example.org', { membership: { ...membership, role: 'member' } })
  const carl = await invite('carl@example.org')
  const app = { id: 'fact_1', secret: 'x', created_at_ms: 1, last_step: 1, last_used_at_ms: null }
  await db
    .insertInto('authenticator_apps')
    .values({ ...app, user_id: carl })
    .execute()
  const code = { code_hash: 'x', created_at_ms: 1, used_at_ms: null }
  await db
    .insertInto('recovery_codes')
    .values({ ...code, user_id: bob })
    .execute()
  const owner = { userId: place.ada.user.id, accountId: 'acct_1', role: 'owner' } as const
  await joinAccount(db, { ...owner, nowMs: 1 })
  await place.addPasskey()
  const { recoveryCodes } = await place.addApp().then(() => place.addApp())
  expect(recoveryCodes).toBeNull()
  await place.signIn(ADA.password)
  const made = {
    name: 'shop',
    scopes: ['read'],
    expiresAtMs: null,
    madeBy: null,
    by: null,
  } as const
  const { adminToken } = await createAdminToken(parts, made)
  const dan = {
    kind: 'invitation',
    email: 'dan@example.org',
    isOperator: false,
    membership,
  } as const
  await makeLink(parts, dan)
  await keep()
  const before = await access()

  const by = null
  await remove(parts, { email: 'eve@example.org', accountId: null, asOperator: true })
  const toMember = { accountId: 'acct_1', userId: eve, role: 'member', ownerId: null } as const
  await changeMember(parts, toMember, by)
  await changeMember(parts, { ...toMember, userId: bob, role: null }, by)
  await remove(parts, { email: 'carl@example.org', accountId: null, asOperator: false })
  const [{ id: invitationId } = { id: '' }] = await db
    .selectFrom('links')
    .select('id')
    .where('email', '=', 'dan@example.org')
    .execute()
  await withdrawInvitation(parts, { accountId: 'acct_1', invitationId }, by)
  await revokeAdminToken(parts, { adminTokenId: adminToken.id, by })
  const [passkey] = await db.selectFrom('passkeys').select('id').execute()
  await place.people.factorSetup.remove(place.ada, String(passkey?.id))
  await place.people.factorSetup.renewRecoveryCodes(place.ada)
  await db.deleteFrom('recovery_codes').where('user_id', '<>', bob).execute()
  await db.updateTable('recovery_codes').set({ used_at_ms: 1 }).execute()
  await place.addApp()
  // They came with the app.
  await db.deleteFrom('recovery_codes').where('user_id', '<>', bob).execute()
  await place.change(ADA.password, 'another horse battery')
  const after = await access()
  const gateways = [gateway(), gateway()]
  for (const one of gateways) await one.catchUp()
  expect(told).toEqual([])

  await goBack()
  expect(await access()).toEqual(before)
  for (const one of gateways) await one.catchUp()
  expect(await access()).toEqual(after)
  expect(failures).toEqual([])
  expect(new Set(told)).toEqual(
    new Set([
      'the removal of an operator',
      'the new role of a member',
      'the removal of a member',
      'the removal of a sign-in',
      'a sign-out',
      'the use or withdrawal of a link',
      'the revocation of an admin token',
      'the removal of a passkey',
      'the removal of an authenticator app',
      'the replacement of an authenticator app',
      'the replacement of a recovery code',
      'the use of a recovery code',
      'a new password',
    ]),
  )
  const { actions } = await listOperatorActions(db, { limit: 20 })
  const repeated = { tokenId: null, tokenName: 'gateway' }
  const sorted = [...actions].sort((a, b) => a.action.localeCompare(b.action))
  expect(sorted).toMatchObject([
    { action: 'changeMember', accountId: 'acct_1', targetId: eve, ...repeated },
    { action: 'removeMember', accountId: 'acct_1', targetId: bob, ...repeated },
    { action: 'removeUser', ...repeated },
    { action: 'removeUser', ...repeated },
    { action: 'revokeAdminToken', targetId: adminToken.id, ...repeated },
  ])
  expect(JSON.parse(sorted.at(-1)?.detailJson ?? '')).toEqual({ name: 'shop', repeated: true })
  const toldOnce = told.length
  for (const one of gateways) await one.catchUp()
  expect(told).toHaveLength(toldOnce)
})

test('access that could not be taken again is tried with each reading until it is taken, however long that lasts', async () => {
  await place.signIn(ADA.password)
  await keep()
  await place.people.sessions.endOthers({
    userId: place.ada.user.id,
    keptSessionId: place.ada.sessionId,
  })
  const taken = await access()
  const known = gateway()
  await known.catchUp()
  await goBack()
  await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'no writes'; end $$`.execute(
    db,
  )
  await sql`create trigger refuse before delete on sessions execute function refuse()`.execute(db)
  for (let hour = 1; hour <= 3; hour++) {
    elapsedMs += HOUR_MS / 2
    await known.catchUp()
    expect(failures).toHaveLength(hour)
  }
  await sql`drop trigger refuse on sessions`.execute(db)
  await known.catchUp()
  expect([await access(), told]).toEqual([taken, ['a sign-out']])
})

test('access that was given anew is not taken again', async () => {
  await makeAccount()
  const email = 'bob@example.org'
  const membership = { accountId: 'acct_1', role: 'member' } as const
  const userId = await invite(email, { membership })
  await keep()
  await changeMember(parts, { accountId: 'acct_1', userId, role: null, ownerId: null }, null)
  const known = gateway()
  await known.catchUp()
  await goBack()
  // Before the gateway notices, as an operator does who sees that Bob is a member again.
  await changeMember(parts, { accountId: 'acct_1', userId, role: null, ownerId: null }, null)
  await joinAccount(db, { ...membership, userId, nowMs: systemClock.nowMs() })
  await known.catchUp()
  expect((await access()).members).toEqual([{ user_id: userId, role: 'member' }])
  expect(told).toEqual([])
})

test('the removal of an operator is not repeated where the database has lost the only other one', async () => {
  await keep()
  await invite('eve@example.org', { isOperator: true })
  await remove(parts, { email: ADA.email, accountId: null, asOperator: true })
  const known = gateway()
  await known.catchUp()
  await goBack()
  await known.catchUp()
  await known.catchUp()
  expect(told).toEqual(['last: the removal of an operator'])
  expect((await access()).operators).toEqual([{ id: place.ada.user.id }])
})

test('what one gateway no longer needs to know is removed, and no other takes that for lost', async () => {
  await place.signIn(ADA.password)
  const { ada } = place
  await place.people.sessions.endOthers({ userId: ada.user.id, keptSessionId: ada.sessionId })
  const rows = () => db.selectFrom('taken_access').select('table_name').execute()
  // Of the link of the setup, and of the session.
  expect(await rows()).toHaveLength(2)
  const gateways = [gateway(), gateway()]
  for (const one of gateways) await one.catchUp()
  elapsedMs += 2 * HOUR_MS
  for (const one of gateways) await one.catchUp()
  expect([await rows(), told, failures]).toEqual([[], [], []])
})
