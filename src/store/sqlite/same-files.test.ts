import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NotSent } from '../store-failure.ts'
import { openSqliteConnection, sameFilesCheck } from './sqlite-connection.ts'

test('a removed log is noticed even if a symbolic link leads to the store', () => {
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
