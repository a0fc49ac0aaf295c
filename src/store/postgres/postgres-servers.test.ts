import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../testing/postgres.ts'
import { startSeveringProxy } from '../testing/severing-proxy.ts'
import { startSharingPooler } from '../testing/sharing-pooler.ts'
import type { TestDatabase } from '../testing/test-databases.ts'
import { endConnection, PostgresServers, refuseSharedSessions } from './postgres-servers.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await createPostgresDatabase()
})
afterEach(() => database.remove())

test('a pooler whose connections share a session is refused', async () => {
  const pooler = await startSharingPooler(database.url)
  await expect(refuseSharedSessions(pooler.url)).rejects.toThrow(
    /^127\.0\.0\.1:\d+ is a pooler that gives each transaction another session\. Let it keep a session for each connection \(pool_mode = session\)$/,
  )
  await pooler.close()
})

test('a database, or a proxy that keeps a session for each connection, is not', async () => {
  await expect(refuseSharedSessions(database.url)).resolves.toBeUndefined()
  const proxy = await startSeveringProxy(database.url)
  await expect(refuseSharedSessions(proxy.url)).resolves.toBeUndefined()
  await proxy.close()
})

test('a server before PostgreSQL 12 is refused', async () => {
  const client = new Client(database.url)
  await client.connect()
  const name = client.escapeIdentifier(new URL(database.url).pathname.slice(1))
  // In the place of the version of the server, an earlier one.
  await client.query(`create function current_setting(text) returns text language sql as $$
    select case $1 when 'server_version_num' then '110022' else pg_catalog.current_setting($1) end $$`)
  await client.query(`alter database ${name} set search_path = public, pg_catalog`)
  await client.end()
  const opening = new PostgresServers(database.url).connect({ driver: {}, settings: 'select 1' })
  await expect(opening).rejects.toThrow(
    /^127\.0\.0\.1:\d+ is PostgreSQL 11, and tollgate needs 12 or newer$/,
  )
})

test('a limit that the database sets on statements does not end the one that lifts it', async () => {
  const client = new Client(database.url)
  await client.connect()
  const name = client.escapeIdentifier(new URL(database.url).pathname.slice(1))
  // In the place of the list of settings, one that takes longer than the limit.
  await client.query(`create view pg_settings as
    select listed.* from pg_catalog.pg_settings as listed, pg_sleep(0.7)`)
  await client.query(`alter database ${name} set search_path = public, pg_catalog`)
  await client.query(`alter database ${name} set statement_timeout = 500`)
  await client.end()
  const servers = new PostgresServers(`${database.url}?connect_timeout=60`)
  const opened = await servers.connect({ driver: {}, settings: 'select 1' })
  const { rows } = await opened.client.query('show statement_timeout')
  expect(rows).toEqual([{ statement_timeout: '0' }])
  await endConnection(opened.client)
})
