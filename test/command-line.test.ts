import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tollgate } from './tollgate-process.ts'

const shell = promisify(execFile)
const LAUNCHER = join(import.meta.dirname, '..', 'bin', 'tollgate.js')

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-line-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test.each<[string, string[], Record<string, string>, number, RegExp]>([
  ['a command that is done', ['account', 'list'], {}, 0, /^$/],
  ['--help', ['account', '--help'], {}, 0, /^$/],
  ['--help under settings that are wrong', ['key', '--help'], { PORT: 'x' }, 0, /^$/],
  ['a wrong command line', ['account', 'lst'], {}, 1, /^error: unknown command 'lst'/],
  ['what cannot be done', ['account', 'show', 'acct_0'], {}, 1, /^tollgate: no account has the id/],
  ['settings that are wrong', ['account', 'list'], { PORT: 'x' }, 1, /^tollgate: the environment/],
])('%s ends the process accordingly, without a stack', async (_, args, env, code, notes) => {
  const finished = await tollgate(args, { folder, env })
  expect(finished.code).toBe(code)
  expect(finished.notes).toMatch(notes)
  expect(finished.notes).not.toMatch(/^ {4}at /m)
})

test('--help makes no store', async () => {
  await tollgate(['account', 'create', '--help'], { folder })
  expect(readdirSync(folder)).toEqual([])
})

test('a reader that has seen enough is no failure', async () => {
  const { stdout, stderr } = await shell(
    'bash',
    [
      '-c',
      `"$0" "$1" account list --json | true; echo "\${PIPESTATUS[0]}"`,
      process.execPath,
      LAUNCHER,
    ],
    { cwd: folder },
  )
  expect([stdout, stderr]).toEqual(['0\n', ''])
})
