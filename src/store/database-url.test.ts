import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parseDatabaseUrl, showDatabaseUrl } from './database-url.ts'

test.each([
  [undefined, resolve('data/tollgate.db')],
  ['', resolve('data/tollgate.db')],
  ['sqlite:/var/lib/tollgate.db', '/var/lib/tollgate.db'],
  ['sqlite:./here.db', resolve('here.db')],
  ['sqlite:here/and there.db', resolve('here/and there.db')],
])('%s is a SQLite file', (url, file) => {
  expect(parseDatabaseUrl(url)).toEqual({ kind: 'sqlite', file })
})

test.each([
  ['postgres://localhost', 'postgres://user:password@host:port/database'],
  ['postgres://localhost/', 'postgres://user:password@host:port/database'],
  ['postgres:tollgate', 'postgres://user:password@host:port/database'],
  ['mysql://localhost/tollgate', 'sqlite:/path/to/file.db'],
  ['/var/lib/tollgate.db', 'sqlite:/path/to/file.db'],
  ['sqlite:', 'sqlite:/path/to/file.db'],
  ['sqlite::memory:', 'sqlite:/path/to/file.db'],
  ['sqlite://host/file.db', 'sqlite:/path/to/file.db'],
  ['sqlite:./file.db?mode=ro', 'sqlite:/path/to/file.db'],
])('%s is refused with the accepted forms', (url, message) => {
  expect(() => parseDatabaseUrl(url)).toThrow(message)
})

test.each([
  'postgres://user:word@host:5433/tollgate?sslmode=require',
  'PostgreSQL://host/tollgate',
])('%s is a PostgreSQL database', (url) => {
  expect(parseDatabaseUrl(url)).toEqual({ kind: 'postgres', url })
})

test.each([
  ['postgres://user:word@host:5433/tollgate?password=word', 'postgres://user@host:5433/tollgate'],
  ['postgres://host/tollgate', 'postgres://host/tollgate'],
  [
    'postgres://user:w@rd@a:1,[fd00::3],c:3/tollgate?x=1',
    'postgres://user@a:1,[fd00::3],c:3/tollgate',
  ],
  ['sqlite:/var/lib/tollgate.db', 'sqlite:/var/lib/tollgate.db'],
])('%s is shown without its password', (url, shown) => {
  expect(showDatabaseUrl(url)).toBe(shown)
})

test('a PostgreSQL URL that can not be read is refused without its password in the message', () => {
  const url = 'postgres://user:word@host:port/tollgate'
  expect(() => parseDatabaseUrl(url)).toThrow(/^(?!.*:word@).*$/)
})
