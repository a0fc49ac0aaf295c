import { type Kysely, sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SchemaMismatch } from '../migrate.ts'
import { MIGRATIONS, type Migration, PROGRAM_SCHEMA } from '../migrations/migrations.ts'
import { type OpenStoreInput, openStore } from '../open-store.ts'
import type { Tables } from '../schema.ts'
import { readSetting, settingOnce, writeSetting } from '../settings.ts'
import type { Store } from '../store.ts'
import { StoreRefused, StoreUnavailable } from '../store-failure.ts'
import { createPostgresDatabase } from '../testing/postgres.ts'
import { startSharingPooler } from '../testing/sharing-pooler.ts'
import type { TestDatabase } from '../testing/test-databases.ts'

const NEXT: Migration = {
  number: PROGRAM_SCHEMA + 1,
  name: 'next',
  async up(db) {
    await db.schema.createTable('later').addColumn('id', 'text').execute()
  },
}

let database: TestDatabase
let opened: Store[]

beforeEach(async () => {
  database = await createPostgresDatabase()
  opened = []
})

afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await database.remove()
})

async function open(input: OpenStoreInput = {}): Promise<Store> {
  const store = await openStore({ url: database.url, ...input })
  opened.push(store)
  return store
}

/** Leaves nothing in the database. */
async function empty(): Promise<void> {
  const client = new Client(database.url)
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.end()
}

test('no program uses a store behind a pooler whose connections share a session', async () => {
  const pooler = await startSharingPooler(database.url)
  await expect(open({ url: pooler.url })).rejects.toThrow(
    'is a pooler that gives each transaction another session',
  )
  await pooler.close()
})

test('programs that start at once on an empty database make its tables once', async () => {
  await empty()
  const [store] = await Promise.all([open(), open(), open(), open()])
  const rows = await store?.db.selectFrom('migrations').select('number').orderBy('number').execute()
  expect(rows).toEqual(MIGRATIONS.map(({ number }) => ({ number })))
})

test('a new store is refused in a database whose encoding lacks characters, and made in one that keeps bytes', async () => {
  const admin = new Client(database.url)
  await admin.connect()
  for (const [encoding, refusal] of [
    [
      'LATIN1',
      /^the database is encoded as LATIN1, .*`createdb --encoding=UTF8 --template=template0/,
    ],
    ['SQL_ASCII', null],
  ] as const) {
    const url = new URL(database.url)
    url.pathname += `_${encoding.toLowerCase()}`
    const name = url.pathname.slice(1)
    await admin.query(
      `create database ${name} template template0 encoding '${encoding}' locale 'C'`,
    )
    if (refusal === null) await (await openStore({ url: url.href })).close()
    else {
      const opening = openStore({ url: url.href })
      await expect(opening).rejects.toThrow(SchemaMismatch)
      await expect(opening).rejects.toThrow(refusal)
    }
    await admin.query(`drop database ${name}`)
  }
  await admin.end()
})

test('tables of another program with the name of ours are not taken for ours', async () => {
  await empty()
  const client = new Client(database.url)
  await client.connect()
  await client.query('create schema elsewhere; create table elsewhere.migrations (number integer)')
  await client.query('insert into elsewhere.migrations values (1000)')
  await client.end()
  const { db } = await open()
  expect(await readSetting(db, 'maintenance')).toBeNull()
})

test('an older schema is migrated on request, and a newer one refused', async () => {
  await open()
  const newer = { migrations: [...MIGRATIONS, NEXT] }
  await expect(open(newer)).rejects.toThrow(/start `tollgate serve` once/)
  const { db } = await open({ ...newer, migrateStore: 'always' })
  expect((await db.introspection.getTables()).map(({ name }) => name)).toContain('later')
  await expect(open()).rejects.toThrow(SchemaMismatch)
})

test('an older schema is migrated although the clock was set back behind the last heartbeat of a gateway that stopped', async () => {
  const { db } = await open()
  const aheadMs = Date.now() + 60_000
  const row = {
    id: 'inst_1',
    started_at_ms: 1,
    heartbeat_at_ms: aheadMs,
    program_schema: PROGRAM_SCHEMA,
  }
  await db
    .insertInto('instances')
    .values({ ...row, stopped_at_ms: aheadMs })
    .execute()
  const migrated = await open({ migrations: [...MIGRATIONS, NEXT], migrateStore: 'always' })
  const wake = migrated.db
    .updateTable('instances')
    .set({ heartbeat_at_ms: aheadMs + 1, stopped_at_ms: null })
  await expect(wake.execute()).rejects.toThrow('instances_program_schema')
})

test('limits that the role or the database has do not end reads of a large store, nor migrations', async () => {
  const client = new Client(database.url)
  await client.connect()
  const { rows } = await client.query<{ name: string }>('select current_database() as name')
  const inherited = {
    statement_timeout: '1min',
    lock_timeout: '1min',
    idle_in_transaction_session_timeout: '1min',
    idle_session_timeout: '1min',
    default_transaction_isolation: 'serializable',
  }
  for (const [name, value] of Object.entries(inherited)) {
    await client.query(`alter database ${rows[0]?.name} set ${name} = '${value}'`)
  }
  await client.end()
  const settingsOf = async (db: Store['db']) => {
    const shown = Object.keys(inherited).map(
      (name) => sql`current_setting(${name}) as ${sql.ref(name)}`,
    )
    return (await sql<typeof inherited>`select ${sql.join(shown)}`.execute(db)).rows[0]
  }
  const unlimited = {
    ...Object.fromEntries(Object.keys(inherited).map((name) => [name, '0'])),
    default_transaction_isolation: 'read committed',
  }
  let inMigration: object | undefined
  const noting: Migration = {
    ...NEXT,
    async up(trx) {
      inMigration = await settingsOf(trx)
    },
  }
  const store = await open({ migrations: [...MIGRATIONS, noting], migrateStore: 'always' })
  expect(inMigration).toEqual(unlimited)
  expect(await settingsOf(store.reports)).toEqual(unlimited)
  expect(await settingsOf(store.db)).toEqual({
    ...unlimited,
    statement_timeout: '10s',
    lock_timeout: '2s',
    idle_in_transaction_session_timeout: '5s',
  })
})

test('a migration that fails leaves the database as it was', async () => {
  const { db } = await open()
  const broken: Migration = {
    ...NEXT,
    async up(trx) {
      await NEXT.up(trx)
      throw new Error('the second half failed')
    },
  }
  const migrations = [...MIGRATIONS, broken]
  await expect(open({ migrations, migrateStore: 'always' })).rejects.toThrow('second half')
  expect((await db.introspection.getTables()).map(({ name }) => name)).not.toContain('later')
})

test('a snapshot sees one moment, despite writes meanwhile, and cannot write', async () => {
  const store = await open()
  await writeSetting(store.db, { name: 'maintenance', value: 'off' })
  const seen = await store.snapshot(async (view) => {
    const before = await readSetting(view, 'maintenance')
    await writeSetting(store.db, { name: 'maintenance', value: 'on' })
    return [before, await readSetting(view, 'maintenance')]
  })
  expect(seen).toEqual(['off', 'off'])
  const write = { name: 'maintenance', value: 'x' } as const
  await expect(store.snapshot((view) => writeSetting(view, write))).rejects.toThrow(/read-only/)
  await expect(writeSetting(store.reports, write)).rejects.toThrow(/read-only/)
})

test('settings that are written once keep their first value', async () => {
  const { db } = await open()
  const once = (value: string) => settingOnce(db, { name: 'account_tag_secret', value })
  const values = await Promise.all([once('a'), once('b'), once('c')])
  expect(new Set(values).size).toBe(1)
})

test('a refused statement and a failed database are distinguished', async () => {
  const { db } = await open()
  const insert = () => db.insertInto('settings').values({ name: 'upstream', value: 'x' }).execute()
  await insert()
  await expect(insert()).rejects.toBeInstanceOf(StoreRefused)
  const elsewhere = new URL(database.url)
  elsewhere.pathname = '/no_such_database'
  await expect(openStore({ url: elsewhere.href })).rejects.toBeInstanceOf(StoreUnavailable)
})

test('a database that denies its user a right has failed, and serves once it grants it', async () => {
  const { db } = await open()
  const write = (to: Kysely<Tables>) => writeSetting(to, { name: 'upstream', value: 'x' })
  const denied = db.transaction().execute(async (trx) => {
    await sql`set local role pg_monitor`.execute(trx)
    await write(trx)
  })
  await expect(denied).rejects.toMatchObject({
    name: 'StoreUnavailable',
    message: expect.stringContaining('permission denied for table settings'),
  })
  await write(db)
})

test('a connection that was cut is replaced by the next statement', async () => {
  const { db } = await open()
  await readSetting(db, 'upstream')
  const client = new Client(database.url)
  await client.connect()
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid != pg_backend_pid()`,
  )
  await client.end()
  // The first query may still be sent on the cut connection.
  await readSetting(db, 'upstream').catch((error: unknown) => {
    expect(error).toBeInstanceOf(StoreUnavailable)
  })
  expect(await readSetting(db, 'upstream')).toBeNull()
})
