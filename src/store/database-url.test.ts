import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parseDatabaseUrl } from './database-url.ts'

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
  ['postgres://localhost/tollgate', 'not available yet'],
  ['postgresql://localhost/tollgate', 'not available yet'],
  ['mysql://localhost/tollgate', 'sqlite:/path/to/file.db'],
  ['/var/lib/tollgate.db', 'sqlite:/path/to/file.db'],
  ['sqlite:', 'sqlite:/path/to/file.db'],
  ['sqlite::memory:', 'sqlite:/path/to/file.db'],
  ['sqlite://host/file.db', 'sqlite:/path/to/file.db'],
  ['sqlite:./file.db?mode=ro', 'sqlite:/path/to/file.db'],
])('%s is refused with what is accepted', (url, message) => {
  expect(() => parseDatabaseUrl(url)).toThrow(message)
})
