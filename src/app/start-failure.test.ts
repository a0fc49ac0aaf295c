import { expect, test } from 'vitest'
import { StoreUnavailable } from '../store/store-failure.ts'
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

test('a database that takes no writes is refused with the primary server named', () => {
  const config = readConfig({ DATABASE_URL: 'postgres://tollgate@db/tollgate' })
  const failure = startFailureOf(new StoreUnavailable('db:5432 is read-only'), config)
  expect(failure?.message).toMatch(/db:5432 is read-only\. It may be a standby: .*primary server/)
})
