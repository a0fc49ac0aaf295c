import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import type { Tables } from '../store/schema.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { makeLink } from './links.ts'
import { changeMember } from './members.ts'
import { remove } from './removal.ts'
import { ADA, IDS, type Place, VISITOR } from './testing/place.ts'
import { RewoundPlace } from './testing/rewound-place.ts'
import { joinAccount } from './users.ts'

let world: RewoundPlace
let place: Place
let db: Kysely<Tables>
let parts: {
  readonly db: Kysely<Tables>
  readonly clock: typeof systemClock
  readonly ids: typeof IDS
}
let reports: string[]
let failures: unknown[]

beforeEach(async () => {
  world = await RewoundPlace.open()
  ;({ place, db, reports, failures } = world)
  parts = { db, clock: systemClock, ids: IDS }
})
afterEach(() => world.close())

const gateway = (gatewayIds = IDS) => world.gateway(gatewayIds)
const keep = () => world.keep()
const goBack = () => world.goBack()
const makeAccount = () => world.makeAccount()
const passHours = (hours: number) => world.passHours(hours)

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

/** The kinds of access whose removal is noted. */
async function access() {
  const read = async (text: string) => (await sql.raw<object>(text).execute(db)).rows
  return {
    operators: await read('select id from users where is_operator = 1 order by id'),
    members: await read('select user_id, role from members order by user_id'),
    signIns: await read('select id from sign_ins order by id'),
    apps: await read('select id from authenticator_apps order by id'),
    passkeys: await read('select id from passkeys order by id'),
    sessions: await read('select id from sessions order by id'),
    adminTokens: await read('select id from admin_tokens where revoked_at_ms is null order by id'),
  }
}

async function giveApp(userId: string): Promise<void> {
  const app = { id: 'fact_1', secret: 'x', created_at_ms: 1, last_step: 1, last_used_at_ms: null }
  await db
    .insertInto('authenticator_apps')
    .values({ ...app, user_id: userId })
    .execute()
}

async function makeToken(madeBy: string | null = null): Promise<string> {
  const made = {
    name: 'shop',
    scopes: ['everything'],
    expiresAtMs: null,
    madeBy,
    by: null,
  } as const
  return (await createAdminToken(parts, made)).adminToken.id
}

/** Gives a member of the account another role; null: removes the member. */
function change(userId: string, role: 'owner' | 'member' | null): Promise<boolean> {
  return changeMember(parts, { accountId: 'acct_1', userId, role, ownerId: null }, null)
}

const OWNER = { accountId: 'acct_1', role: 'owner' } as const

test("access that was removed is removed again by any gateway after the database lost the removal, and the audit log has the operators' changes", async () => {
  await makeAccount()
  const eve = await invite('eve@example.org', { isOperator: true, membership: OWNER })
  const bob = await invite('bob@example.org', { membership: { ...OWNER, role: 'member' } })
  await giveApp(await invite('carl@example.org'))
  await joinAccount(db, { userId: place.ada.user.id, ...OWNER, nowMs: 1 })
  await place.addPasskey()
  await place.signIn(ADA.password)
  const adminTokenId = await makeToken()
  await keep()
  const before = await access()

  await remove(parts, { email: 'eve@example.org', accountId: null, asOperator: true })
  await change(eve, 'member')
  await change(bob, null)
  await remove(parts, { email: 'carl@example.org', accountId: null, asOperator: false })
  await revokeAdminToken(parts, { adminTokenId, by: null })
  const [passkey] = await db.selectFrom('passkeys').select('id').execute()
  await place.people.factorSetup.remove(place.ada, String(passkey?.id))
  const after = await access()
  const gateways = [gateway(), gateway()]
  for (const one of gateways) await one.catchUp()
  expect(reports).toEqual([])

  await goBack()
  expect(await access()).toEqual(before)
  await Promise.all(gateways.map((one) => one.catchUp()))
  expect(await access()).toEqual(after)
  expect(failures).toEqual([])
  expect(new Set(reports)).toEqual(
    new Set([
      'the removal of an operator',
      'the new role of a member',
      'the removal of a member',
      'the removal of a sign-in',
      'a sign-out',
      'the revocation of an admin token',
      'the removal of a passkey',
      'the removal of an authenticator app',
      'the replacement of recovery codes',
    ]),
  )
  const { rows: actions } = await listOperatorActions(db, { limit: 20 })
  const repeated = { tokenId: null, tokenName: 'gateway' }
  const sorted = [...actions].sort((a, b) => a.action.localeCompare(b.action))
  expect(sorted).toMatchObject([
    { action: 'changeMember', accountId: 'acct_1', targetId: eve, ...repeated },
    { action: 'removeMember', accountId: 'acct_1', targetId: bob, ...repeated },
    { action: 'removeUser', ...repeated },
    { action: 'removeUser', ...repeated },
    { action: 'revokeAdminToken', targetId: adminTokenId, ...repeated },
  ])
  expect(JSON.parse(sorted.at(-1)?.detailJson ?? '')).toEqual({ name: 'shop', repeated: true })
  const toldOnce = reports.length
  for (const one of gateways) await one.catchUp()
  expect(reports).toHaveLength(toldOnce)
})

test('removing access again is retried at each poll until it succeeds, and its failure is reported once', async () => {
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
  for (const hours of [0, 0.5, 3]) {
    await passHours(hours)
    await known.catchUp()
    expect(failures).toHaveLength(1)
  }
  await sql`drop trigger refuse on sessions`.execute(db)
  await known.catchUp()
  expect([await access(), reports]).toEqual([taken, ['a sign-out']])
})

test('access that was given again is not removed', async () => {
  await makeAccount()
  const membership = { ...OWNER, role: 'member' } as const
  const userId = await invite('bob@example.org', { membership })
  await keep()
  await change(userId, null)
  const known = gateway()
  await known.catchUp()
  await goBack()
  // Before the gateway notices, as an operator does who sees that Bob is a member again.
  await change(userId, null)
  await joinAccount(db, { ...membership, userId, nowMs: systemClock.nowMs() })
  await known.catchUp()
  expect((await access()).members).toEqual([{ user_id: userId, role: 'member' }])
  expect(reports).toEqual([])
})

test('a lost change is not repeated over a later change of the same row', async () => {
  await makeAccount()
  await joinAccount(db, { userId: place.ada.user.id, ...OWNER, nowMs: 1 })
  const eve = await invite('eve@example.org', { membership: OWNER })
  await keep()
  await change(eve, 'member')
  const known = gateway()
  await known.catchUp()
  await goBack()
  await change(eve, 'member')
  await change(eve, 'owner')
  await known.catchUp()
  expect((await access()).members).toContainEqual({ user_id: eve, role: 'owner' })
  expect(reports).toEqual([])
})

test('a removal that another gateway repeated is not repeated over access that was given since', async () => {
  const eve = await invite('eve@example.org', { isOperator: true })
  await keep()
  await remove(parts, { email: 'eve@example.org', accountId: null, asOperator: true })
  let fails = true
  const failing: typeof IDS = {
    next(prefix) {
      if (fails) throw new Error('no ID')
      return IDS.next(prefix)
    },
  }
  const [first, second] = [gateway(), gateway(failing)]
  await first.catchUp()
  await second.catchUp()
  await goBack()
  await second.catchUp()
  await first.catchUp()
  expect([failures, reports]).toEqual([[new Error('no ID')], ['the removal of an operator']])
  fails = false
  await db.updateTable('users').set({ is_operator: 1 }).where('id', '=', eve).execute()
  await second.catchUp()
  expect((await access()).operators).toContainEqual({ id: eve })
  expect(reports).toHaveLength(1)
})

test('the removal of an operator is not repeated if the database has lost the only other one', async () => {
  await keep()
  await invite('eve@example.org', { isOperator: true })
  await remove(parts, { email: ADA.email, accountId: null, asOperator: true })
  const known = gateway()
  await known.catchUp()
  await goBack()
  await known.catchUp()
  await known.catchUp()
  expect(reports).toEqual(['last: the removal of an operator'])
  expect((await access()).operators).toEqual([{ id: place.ada.user.id }])
})

test.each([
  ['removal', null],
  ['new role', 'member'],
] as const)(
  'the %s of an owner is not repeated if the database has lost the only other one',
  async (words, role) => {
    await makeAccount()
    const carl = await invite('carl@example.org', { membership: OWNER })
    await keep()
    await invite('bob@example.org', { membership: OWNER })
    await change(carl, role)
    const known = gateway()
    await known.catchUp()
    await goBack()
    await known.catchUp()
    await known.catchUp()
    expect(reports).toEqual([`last: the ${words} of a member`])
    expect((await access()).members).toEqual([{ user_id: carl, role: 'owner' }])
  },
)

test('a token that a gateway has revoked, and all made by it, are refused and revoked again even if the gateway has read neither', async () => {
  const adminTokenId = await makeToken()
  const madeByIt = await makeToken(adminTokenId)
  await keep()
  const known = gateway()
  await known.catchUp()
  const revoked = await revokeAdminToken(parts, { adminTokenId, by: null })
  known.rememberRevoked(revoked?.revokedIds ?? [])
  await goBack()
  expect([adminTokenId, madeByIt].map((id) => known.hasRevoked(id))).toEqual([true, true])
  await known.catchUp()
  expect((await access()).adminTokens).toEqual([])
  expect(reports).toEqual(Array(2).fill('the revocation of an admin token'))
})

test('rows are removed after two hours by the clock of the database, and no gateway takes that for lost, however long it stood still', async () => {
  await makeAccount()
  await joinAccount(db, { userId: place.ada.user.id, ...OWNER, nowMs: 1 })
  const eve = await invite('eve@example.org', { membership: { ...OWNER, role: 'member' } })
  await change(eve, 'owner')
  const [first, second] = [gateway(), gateway()]
  await first.catchUp()
  await second.catchUp()
  await change(eve, 'member')
  // More than a statement has parameters.
  await sql`insert into taken_access (id, user_id, table_name, key_json, taken_at_ms)
    select lpad(n::text, 17, '0'), '', 'sessions', '{"id":"x"}', 0 from generate_series(1, 70000) n`.execute(
    db,
  )
  await passHours(3)
  await first.catchUp()
  expect(await db.selectFrom('taken_access').select('id').execute()).toEqual([])
  await second.catchUp()
  expect((await access()).members).toContainEqual({ user_id: eve, role: 'member' })
  expect([reports, failures]).toEqual([[], []])
})

test('a gateway repeats missing removals for an hour', async () => {
  await place.signIn(ADA.password)
  const { ada } = place
  await place.people.sessions.endOthers({ userId: ada.user.id, keptSessionId: ada.sessionId })
  const known = gateway()
  await known.catchUp()
  const noted = await db.selectFrom('taken_access').selectAll().execute()
  await db.deleteFrom('taken_access').execute()
  await passHours(1.1)
  await known.catchUp()
  expect(await db.selectFrom('taken_access').select('id').execute()).toEqual([])
  await db.insertInto('taken_access').values(noted).execute()
  await known.catchUp()
  await db.deleteFrom('taken_access').execute()
  await passHours(0.9)
  await known.catchUp()
  expect(await db.selectFrom('taken_access').selectAll().execute()).toEqual(noted)
})

/** Sets the password of Ada so many times, as someone does who knows it. */
async function changePassword(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const hash = `hash ${Math.random()}`
    await db.updateTable('sign_ins').set({ password_hash: hash }).execute()
  }
}

async function passwordNotes(): Promise<number> {
  const notes = db.selectFrom('taken_access').where('table_name', '=', 'sign_ins')
  return Number(
    (await notes.select(({ fn }) => fn.countAll().as('count')).executeTakeFirst())?.count,
  )
}

test('a lost change is repeated although the same row was changed 300 times before, and no earlier change counts as lost', async () => {
  const known = gateway()
  for (const times of [150, 75, 75]) {
    await changePassword(times)
    await known.catchUp()
  }
  await passHours(0.1)
  await known.catchUp()
  expect([await passwordNotes(), reports]).toEqual([100, []])
  await passHours(0)
  await keep()
  await changePassword(1)
  await known.catchUp()
  await goBack()
  await known.catchUp()
  const { password_hash } = await db
    .selectFrom('sign_ins')
    .select('password_hash')
    .executeTakeFirstOrThrow()
  expect(password_hash).toMatch(/^!/)
  expect([reports, failures]).toEqual([['a new password'], []])
})

test('a lost change is repeated although the same user made 300 changes after it, which are lost too', async () => {
  await place.signIn(ADA.password)
  const { sessionId } = place.ada
  await keep()
  const known = gateway()
  await db.deleteFrom('sessions').where('id', '=', sessionId).execute()
  await known.catchUp()
  await sql`insert into sessions select * from jsonb_populate_recordset(null::sessions, (
    select jsonb_agg(to_jsonb(sessions) || jsonb_build_object('id', n, 'token_hash', n))
    from sessions, generate_series(1, 300) n))`.execute(db)
  await db.deleteFrom('sessions').where(sql<boolean>`length(id) < 4`).execute()
  await known.catchUp()
  await goBack()
  await known.catchUp()
  expect((await access()).sessions).not.toContainEqual({ id: sessionId })
  expect([reports, failures]).toEqual([['a sign-out'], []])
})
