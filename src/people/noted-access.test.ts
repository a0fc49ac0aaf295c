import { sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import type { TestDatabase } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { changeWebhook, createWebhook, deleteWebhook } from '../webhooks/registry.ts'
import { makeLink } from './links.ts'
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
  return (
    db
      .selectFrom('taken_access')
      .select(['table_name', 'user_id'])
      // Ada has used a setup link.
      .where('table_name', '<>', 'links')
      .orderBy('id')
      .execute()
  )
}

test('no secret is noted, and no hash of one: notes of passwords, apps, passkeys, recovery codes, links and webhooks say only which row was changed', async () => {
  const { db } = place.store
  const parts = { db, clock: systemClock, ids: IDS }
  const texts: string[] = []
  /** Collects what the store has at this moment. */
  const collect = async () => {
    const columns = [
      ['sign_ins', 'password_hash'],
      ['authenticator_apps', 'secret'],
      ['passkeys', 'public_key'],
      ['passkeys', 'credential_id'],
      ['recovery_codes', 'code_hash'],
      ['links', 'token_hash'],
      ['webhooks', 'url'],
      ['webhooks', 'secret'],
      ['api_keys', 'key_hash'],
    ] as const
    for (const [table, column] of columns) {
      const found = await sql<{ secret: string }>`
        select ${sql.ref(column)} as secret from ${sql.table(table)}`.execute(db)
      texts.push(...found.rows.map(({ secret }) => secret))
    }
  }
  await collect()
  await place.change(ADA.password, 'another horse battery')
  await place.addApp()
  await collect()
  await place.people.factorSetup.renewRecoveryCodes(place.ada)
  await collect()
  await db.updateTable('recovery_codes').set({ used_at_ms: 1 }).execute()
  await place.addApp()
  await place.addPasskey()
  const email = 'bob@example.org'
  const bob = { kind: 'invitation', email, isOperator: false, membership: null } as const
  const { text } = await makeLink(parts, bob)
  const person = { linkText: text, name: 'Bob', password: ADA.password }
  await place.people.acceptInvitation(person, VISITOR)
  const hook = { url: 'https://receiver.example/secret', events: [], by: null }
  const { id: webhookId } = await createWebhook(parts, hook)
  await collect()
  await changeWebhook(parts, { webhookId, url: 'https://receiver.example/other', by: null })
  await collect()
  await deleteWebhook(parts, { webhookId, by: null })
  const notes = await db.selectFrom('taken_access').selectAll().execute()
  expect(new Set(notes.map(({ table_name }) => table_name))).toEqual(
    new Set(['links', 'sign_ins', 'authenticator_apps', 'passkeys', 'recovery_codes', 'webhooks']),
  )
  const noted = JSON.stringify(notes)
  expect(texts.length).toBeGreaterThan(30)
  expect(texts.filter((secret) => noted.includes(secret))).toEqual([])
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

/** The IDs of more sessions of Ada, which are there now. By position: the number of the first, and of the last. */
async function addSessions(from: number, to: number): Promise<void> {
  await sql`insert into sessions select * from jsonb_populate_recordset(null::sessions, (
    select jsonb_agg(to_jsonb(ada) || jsonb_build_object('id', n, 'token_hash', n))
    from (select * from sessions limit 1) ada,
      generate_series(${sql.lit(from)}::int, ${sql.lit(to)}::int) n))`.execute(place.store.db)
}

test('a user who signs out again and again has the notes of the newest 100 sign-outs, and the removal of an operator is noted nevertheless', async () => {
  const { db } = place.store
  const userId = place.ada.user.id
  await addSessions(1, 250)
  await db.deleteFrom('sessions').where('id', '<>', '250').where('id', '<>', '249').execute()
  expect(await noted()).toEqual(Array(100).fill({ table_name: 'sessions', user_id: userId }))
  for (const sessionId of ['249', '250']) {
    await db.deleteFrom('sessions').where('id', '=', sessionId).execute()
    const newest = db.selectFrom('taken_access').select('key_json').orderBy('id', 'desc').limit(1)
    expect(JSON.parse((await newest.executeTakeFirstOrThrow()).key_json)).toEqual({
      id: sessionId,
      user_id: userId,
    })
  }
  const sessions = Array(100).fill({ table_name: 'sessions', user_id: userId })
  expect(await noted()).toEqual(sessions)
  await db.updateTable('users').set({ is_operator: 0 }).execute()
  expect(await noted()).toEqual([...sessions, { table_name: 'users', user_id: userId }])
})
