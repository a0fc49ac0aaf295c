import { sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import type { TestDatabase } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { makeLink } from './links.ts'
import { remove } from './removal.ts'
import { ADA, IDS, Place, VISITOR } from './testing/place.ts'

let database: TestDatabase
let place: Place

beforeEach(async () => {
  database = await createPostgresDatabase()
  place = await Place.open(database.url)
})
afterEach(async () => {
  await place.close()
  await database.remove()
})

function noted() {
  const { db } = place.store
  return db.selectFrom('taken_access').select(['table_name', 'user_id']).orderBy('id').execute()
}

test('changed passwords, replaced apps, recovery codes and links are not noted, because they are secrets', async () => {
  const { db } = place.store
  const parts = { db, clock: systemClock, ids: IDS }
  await place.change(ADA.password, 'another horse battery')
  await place.addApp()
  await place.people.factorSetup.renewRecoveryCodes(place.ada)
  await db.updateTable('recovery_codes').set({ used_at_ms: 1 }).execute()
  await place.addApp()
  const email = 'bob@example.org'
  const bob = { kind: 'invitation', email, isOperator: false, membership: null } as const
  const { text } = await makeLink(parts, bob)
  const person = { linkText: text, name: 'Bob', password: ADA.password }
  await place.people.acceptInvitation(person, VISITOR)
  await makeLink(parts, { ...bob, email: 'eve@example.org' })
  await remove(parts, { email: 'eve@example.org', accountId: null, asOperator: false })
  expect(await noted()).toEqual([])
})

test('access is noted in the schema of its table, for any search path of the connection that removes it', async () => {
  const client = new Client(database.url)
  await client.connect()
  try {
    await client.query('create schema other')
    const url = new URL(database.url)
    url.searchParams.set('options', '-c search_path=other')
    const other = await openStore({ url: url.href })
    await other.close()
    await client.query('insert into other.users select * from public.users')
    await client.query('insert into other.sessions select * from public.sessions')
    await client.query(`set search_path = ''`)
    await client.query('delete from other.sessions')
    expect(await noted()).toEqual([])
    const { rows } = await client.query('select table_name, user_id from other.taken_access')
    const session = { table_name: 'sessions', user_id: place.ada.user.id }
    expect(rows).toEqual([session])
    await client.query('delete from public.sessions')
    expect(await noted()).toEqual([session])
  } finally {
    await client.end()
  }
})

test('a user who signs in and out repeatedly has at most 200 rows, and the removal of an operator is still noted', async () => {
  const { db } = place.store
  const userId = place.ada.user.id
  await sql`insert into sessions select * from jsonb_populate_recordset(null::sessions, (
    select jsonb_agg(to_jsonb(sessions) || jsonb_build_object('id', n, 'token_hash', n))
    from sessions, generate_series(1, 250) n))`.execute(db)
  await db.deleteFrom('sessions').execute()
  const sessions = Array(200).fill({ table_name: 'sessions', user_id: userId })
  expect(await noted()).toEqual(sessions)
  await db.updateTable('users').set({ is_operator: 0 }).execute()
  expect(await noted()).toEqual([...sessions, { table_name: 'users', user_id: userId }])
})
