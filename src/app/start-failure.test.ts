import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import { readConfig } from './config.ts'
import { startFailureOf } from './start-failure.ts'

test('TOLLGATE_REUSE_PORT is refused on a system without shared ports, and the error says what to do', () => {
  const error = Object.assign(new Error('listen ENOTSUP'), { syscall: 'listen', code: 'ENOTSUP' })
  expect(startFailureOf(error, readConfig({}))?.message).toBe(
    'this operating system does not let several processes listen on one port: leave TOLLGATE_REUSE_PORT out',
  )
})

test('a SQLite store on a full disk is refused with the disk named, although SQLite calls it an I/O error', () => {
  const failure = startFailureOf(new StoreUnavailable('disk I/O error'), readConfig({}))
  expect(failure?.message).toMatch(/cannot be used: disk I\/O error\. Check that its disk has room/)
})

test('a damaged SQLite store is refused with the backup named, and not with the rights of the user', () => {
  const error = new StoreUnavailable('malformed database schema (1)')
  expect(startFailureOf(error, readConfig({}))?.message).toMatch(
    /cannot be used: malformed database schema \(1\)\. Its file is damaged, or the -wal file next to it belongs to another store: .*restore a backup/,
  )
})

test('a SQLite store that was replaced is refused with what its message says to do, and not with the rights of the user', () => {
  const error = new StoreUnavailable('s.db was replaced. Stop the server, and start it again', {
    fault: 'moved',
  })
  expect(startFailureOf(error, readConfig({}))?.message).toMatch(
    /cannot be used: s\.db was replaced\. Stop the server, and start it again\.$/,
  )
})

test('a database that takes no writes is refused with the primary server named', () => {
  const config = readConfig({ DATABASE_URL: 'postgres://tollgate@db/tollgate' })
  const failure = startFailureOf(new StoreUnavailable('db:5432 is read-only'), config)
  expect(failure?.message).toMatch(/db:5432 is read-only\. It may be a standby: .*primary server/)
})

test.each([
  ['password authentication failed for user "tollgate"', 'Correct the user and the password'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'Correct the user'],
  ['empty password returned by client', 'Correct the user'],
  [
    'no pg_hba.conf entry for host "10.0.0.2", user "tollgate"',
    'Correct the user and the password in DATABASE_URL, or let this user in',
  ],
  ['sorry, too many clients already', 'Raise its max_connections'],
  ['remaining connection slots are reserved for roles with SUPERUSER', 'Raise its max_connections'],
  ['The server does not support SSL connections', 'Leave sslmode out of DATABASE_URL'],
  ['self-signed certificate in certificate chain', 'Name the file of the authority'],
  ['unable to get local issuer certificate', 'Name the file of the authority'],
  ["Hostname/IP does not match certificate's altnames: IP: 10.0.0.1", 'Name the server in'],
  ['certificate has expired', 'Renew the certificate'],
  ['connection requires a valid client certificate', 'Check that the database is running'],
  ['connect ECONNREFUSED 10.0.0.1:5432', 'Check that the database is running'],
])('a PostgreSQL server that answers %j is refused with what to correct', (message, advice) => {
  const config = readConfig({ DATABASE_URL: 'postgres://tollgate@db/tollgate' })
  const failure = startFailureOf(new StoreUnavailable(`db:5432: ${message}`), config)
  expect(failure?.message).toContain(`${message}. ${advice}`)
})

test('a PostgreSQL user without the right to make tables, or without a database, is pointed to the commands for both', async () => {
  const database = await createPostgresDatabase()
  const url = new URL(database.url)
  const user = `${url.pathname.slice(1)}_user`
  const owner = new Client(database.url)
  await owner.connect()
  await owner.query(
    `drop schema public cascade; create schema public; create role ${user} login password 'x'`,
  )
  url.username = user
  url.password = 'x'
  const config = readConfig({ DATABASE_URL: url.href })
  const messageOf = async () => {
    const refused = await openStore({ url: url.href }).catch((error: unknown) => error)
    return startFailureOf(refused, config)?.message
  }
  const advice = 'Its user must own the database and the tables in it; docs/scale.md'
  expect(await messageOf()).toContain(`no schema has been selected to create in. ${advice}`)
  await owner.query('grant usage on schema public to public')
  expect(await messageOf()).toContain(`permission denied for schema public. ${advice}`)
  url.pathname += '_none'
  expect(await messageOf()).toMatch(
    / does not exist\. Create it with the commands in docs\/scale\.md/,
  )
  await owner.query('revoke usage on schema public from public')
  await owner.query(`drop role ${user}`)
  await owner.end()
  await database.remove()
})
