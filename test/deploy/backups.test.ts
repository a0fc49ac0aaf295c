import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig, SETTINGS } from '../../src/app/config.ts'
import { openCommandLine } from '../../src/cli/testing/command-line.ts'
import { bundled } from '../bundled.ts'
import { serve } from '../tollgate-process.ts'
import { deployBlock } from './deploy-page.ts'
import { ROOT } from './image-recipe.ts'

/** The backup and the restore of docs/deploy.md, unchanged, and its figures of timeouts. */

const run = promisify(execFile)
const DATABASE_URL = 'sqlite:data/tollgate.db'
const program = bundled('tollgate')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-deploy-'))
  for (const name of ['bin', 'data']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'bin', 'tollgate'), `#!/bin/sh\nexec node ${program} "$@"\n`, {
    mode: 0o755,
  })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a block in the folder of a deployment, where `tollgate` is a program. */
async function paste(block: string): Promise<string> {
  const path = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(':')
  const { stdout } = await run('sh', ['-e', '-c', block], {
    cwd: folder,
    env: { PATH: path, DATABASE_URL, NODE_COMPILE_CACHE: join(dirname(program), 'compiled') },
  })
  return stdout
}

async function createAccount(name: string): Promise<void> {
  const line = openCommandLine({ storeUrl: `sqlite:${join(folder, 'data', 'tollgate.db')}` })
  await line.make('account', 'create', name)
  line.close()
}

async function ask(address: string, apiKey: string): Promise<number> {
  const { status } = await fetch(`${address}/v1/key`, { headers: { 'x-api-key': apiKey } })
  return status
}

test('a backup next to a running server is exact, and restores its content after a loss', async () => {
  const server = await serve({ folder, env: { DATABASE_URL }, program })
  const apiKey = /sk-tollgate-\w+/.exec(server.greeting)?.[0] ?? ''
  expect(await paste(deployBlock('sh', 'tollgate backup'))).toMatch(/^exact: 1 account, 1 key,/m)
  await createAccount('Later')
  await server.stop('SIGTERM')

  expect(await paste(deployBlock('sh', 'mv data/'))).toMatch(/^exact: 1 account, 1 key,/m)
  expect(readdirSync(join(folder, 'aside'))).toContain('tollgate.db')
  const restored = await serve({ folder, env: { DATABASE_URL }, program })
  expect(restored.greeting).not.toContain('sk-tollgate-')
  expect(await ask(restored.address, apiKey)).toBe(200)
  await restored.stop('SIGTERM')
})

const BACKUP = join(ROOT, 'deploy', 'backup.sh')

/** Leaves a copy in `backups` that was made that many days ago. */
function leaveCopy(name: string, days: number): void {
  mkdirSync(join(folder, 'backups'), { recursive: true })
  const file = join(folder, 'backups', name)
  writeFileSync(file, '')
  const madeAt = new Date(Date.now() - days * 86_400_000)
  utimesSync(file, madeAt, madeAt)
}

test('a nightly backup is audited, and replaces backups older than 14 days', async () => {
  await createAccount('Ada')
  leaveCopy('old.db', 16)
  leaveCopy('recent.db', 13)
  expect(await paste(`${BACKUP} tollgate`)).toMatch(/^exact: 1 account, 0 keys,/m)
  expect(readdirSync(join(folder, 'backups')).toSorted()).toEqual([
    expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{6}Z\.db$/),
    'recent.db',
  ])
})

test.each(['backup', 'audit'])('a nightly backup whose %s fails deletes no copy', async (step) => {
  await createAccount('Ada')
  leaveCopy('old.db', 16)
  const failing = `#!/bin/sh\n[ "$1" != ${step} ] || exit 1\nexec tollgate "$@"\n`
  writeFileSync(join(folder, 'bin', 'failing'), failing, { mode: 0o755 })
  await expect(paste(`${BACKUP} failing`)).rejects.toMatchObject({ code: 1 })
  expect(readdirSync(join(folder, 'backups'))).toContain('old.db')
})

test('no proxy of the page gives up before the gateway does', () => {
  const nginx = deployBlock('nginx', 'proxy_pass')
  const seconds = (name: string): number => Number(new RegExp(`${name} (\\d+)s;`).exec(nginx)?.[1])
  const config = readConfig({})
  expect(seconds('proxy_read_timeout') * 1_000).toBeGreaterThan(config.TOLLGATE_TOTAL_TIMEOUT_MS)
  expect(seconds('client_body_timeout') * 1_000).toBe(config.TOLLGATE_BODY_READ_TIMEOUT_MS)
  expect(SETTINGS.TOLLGATE_DRAIN_TIMEOUT_MS.fallback).toBe(String(15 * 60_000))
})
