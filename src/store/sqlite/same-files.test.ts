import { mkdtempSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NotSent } from '../store-failure.ts'
import {
  checkpointAndClose,
  openSqliteConnection,
  sameFilesCheck,
  wholeLogCheck,
} from './sqlite-connection.ts'

test('a removed log is noticed where a symbolic link leads to the store, too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-same-'))
  const file = join(folder, 'store.db')
  openSqliteConnection({ file }).close()
  const link = join(folder, 'link.db')
  symlinkSync(file, link)
  const connection = openSqliteConnection({ file: link })
  const check = sameFilesCheck({ file: link })
  check(NotSent)
  rmSync(`${file}-wal`)
  expect(() => check(NotSent)).toThrow(`${file}-wal is not the file that this server uses`)
  connection.close()
  rmSync(folder, { recursive: true })
})

test('a log that another program has cut is noticed for good, and one that a command has written into the file is not one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-same-'))
  const file = join(folder, 'store.db')
  const connection = openSqliteConnection({ file })
  connection.exec('create table t (a)')
  const check = wholeLogCheck(connection, file)
  const insert = () => connection.exec('insert into t values (1)')
  insert()
  check(NotSent)
  checkpointAndClose(openSqliteConnection({ file }))
  check(NotSent)
  insert()
  check(NotSent)
  truncateSync(`${file}-wal`, 100)
  expect(() => check(NotSent)).toThrow(`${file}-wal was cut by another program`)
  insert()
  expect(() => check(NotSent)).toThrow(`${file}-wal was cut by another program`)
  connection.close()
  rmSync(folder, { recursive: true })
})
