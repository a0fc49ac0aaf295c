import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listen } from '../src/vocabulary/testing/listen.ts'
import { tollgate } from './tollgate-process.ts'

const shell = promisify(execFile)
const LAUNCHER = join(import.meta.dirname, '..', 'bin', 'tollgate.js')

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-line-'))
  writeFileSync(join(folder, 'a-file'), 'This is not a database, and no folder either.')
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a store in a folder of another user is not called missing: the error says which user to be', async () => {
  await tollgate(['account', 'create', 'Ada'], { folder })
  const data = join(folder, 'data')
  chmodSync(folder, 0o755)
  chmodSync(data, 0o000)
  const { PATH = '' } = process.env
  // Root sees all folders.
  const otherUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const listing = shell(process.execPath, [LAUNCHER, 'account', 'list'], {
    cwd: folder,
    env: { PATH },
    ...otherUser,
  })
  await expect(listing).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /this user cannot open the folder of the store \S+simulator\.db: run the command as the user that runs the server/,
    ),
  })
  chmodSync(data, 0o700)
})

test('a line of .env without = ends the process before anything runs, and is named by its number', async () => {
  writeFileSync(join(folder, '.env'), 'PORT=8787\nTOLLGATE_FEE_BPS 500\n')
  const finished = await tollgate(['account', 'create', 'Ada'], { folder })
  expect(finished).toMatchObject({
    code: 1,
    notes: expect.stringContaining(
      'the file .env cannot be used: line 2 has no =: write TOLLGATE_FEE_BPS=…',
    ),
  })
})

test.each<[string, string[], Record<string, string>, number, RegExp]>([
  ['a command that is done', ['account', 'create', 'Ada', '--json'], {}, 0, /^$/],
  ['--help', ['account', '--help'], {}, 0, /^$/],
  ['--help under settings that are wrong', ['key', '--help'], { PORT: 'x' }, 0, /^$/],
  ['a wrong command line', ['account', 'lst'], {}, 2, /^tollgate: unknown command 'lst'/],
  ['what cannot be done', ['account', 'show', 'acct_0'], {}, 1, /^tollgate: there is no store at /],
  [
    'a store in a folder that is a file',
    ['account', 'create', 'Ada'],
    { DATABASE_URL: 'sqlite:./a-file/store.db' },
    1,
    /^tollgate: the store sqlite:\S+a-file\/store\.db cannot be used: .+ or set DATABASE_URL to another place/,
  ],
  [
    'a store that is none',
    ['account', 'list'],
    { DATABASE_URL: 'sqlite:./a-file' },
    1,
    /^tollgate: the store sqlite:\S+ cannot be used: .+ This file is not a store: /m,
  ],
  [
    'a database that does not answer',
    ['account', 'list'],
    { DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/tollgate' },
    1,
    /^tollgate: the store postgres:\/\/ada@127\.0\.0\.1:1\/tollgate cannot be used: .+Check that the database is running/,
  ],
  [
    'a server on an address of no network of the machine',
    ['serve'],
    { HOST: '192.0.2.1' },
    1,
    /^tollgate: HOST is 192\.0\.2\.1, which is not an address of this machine: /,
  ],
  ['settings that are wrong', ['account', 'list'], { PORT: 'x' }, 1, /^tollgate: the environment/],
])('%s ends the process accordingly, without a stack', async (_, args, env, code, notes) => {
  const finished = await tollgate(args, { folder, env })
  expect(finished.code).toBe(code)
  expect(finished.notes).toMatch(notes)
  expect(finished.notes).not.toMatch(/^ {4}at /m)
})

test.each(['PORT', 'METRICS_PORT'])(
  'a %s that is in use is reported, with the setting to change',
  async (name) => {
    const taken = createServer()
    const port = String(await listen(taken))
    const { code, notes } = await tollgate(['serve'], { folder, env: { PORT: '0', [name]: port } })
    expect(code).toBe(1)
    expect(notes).toMatch(
      new RegExp(`^tollgate: port ${port} of 127\\.0\\.0\\.1 is taken.+ set ${name} to`),
    )
    expect(notes).not.toMatch(/^ {4}at /m)
    taken.close()
  },
)

test('a copy that cannot be written is reported as a problem of the target, not of the store', async () => {
  await tollgate(['account', 'create', 'Ada'], { folder })
  const backup = await tollgate(['backup', 'a-file/copy'], { folder })
  expect(backup.code).toBe(1)
  expect(backup.notes).toMatch(
    /^tollgate: \S+a-file\S* cannot be written: .+Check that this user can write there\.$/m,
  )
  const copy = await tollgate(['copy', '--to', 'sqlite:a-file/copy'], { folder })
  expect(copy.code).toBe(1)
  expect(copy.notes).toMatch(
    /^tollgate: nothing was copied: sqlite:\S+a-file\/copy: .+can't be created\. Check that .+, then copy again$/m,
  )
})

test('--help creates no store', async () => {
  await tollgate(['account', 'create', '--help'], { folder })
  expect(readdirSync(folder)).toEqual(['a-file'])
})

test('a reader that closes the pipe early causes no failure', async () => {
  const { stdout, stderr } = await shell(
    'bash',
    [
      '-c',
      `"$0" "$1" account create Ada --json | true; echo "\${PIPESTATUS[0]}"`,
      process.execPath,
      LAUNCHER,
    ],
    { cwd: folder },
  )
  expect([stdout, stderr]).toEqual(['0\n', ''])
})

test('results that a full disk does not accept are a failure, reported without a stack trace', async () => {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [LAUNCHER, 'account', '--help'], {
    cwd: folder,
    stdio: ['ignore', full, 'pipe'],
  })
  closeSync(full)
  let notes = ''
  child.stderr?.on('data', (text) => {
    notes += String(text)
  })
  expect(await once(child, 'close')).toEqual([1, null])
  expect(notes).toBe(
    'tollgate: the output could not be written whole: ENOSPC: no space left on device, write\n',
  )
})
