import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'gateway-books.js')
const folder = mkdtempSync(join(tmpdir(), 'books-stopped-'))
const told = join(folder, 'told')
const pidFile = join(folder, 'pid')
// A shell, and a process of its own.
const ENDLESS = '"sleep 1000; true"'

beforeAll(() => {
  const psql = join(folder, 'psql')
  // As npx does, or an impatient user, it sends a signal more while the run undoes what it did.
  writeFileSync(
    psql,
    `#!/bin/sh\necho "$3" >> ${told}
case "$3" in drop*) kill -s TERM "$(cat ${pidFile})" ;; esac
`,
  )
  chmodSync(psql, 0o755)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The processes that work in the folder, or did before a part of it was removed. */
function processes(): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`).startsWith(folder)
    } catch {
      return false
    }
  })
}

/** Runs an adapter until its processes are there, sends a signal, and returns the exit code. */
async function stopped(signal: NodeJS.Signals, sections: string): Promise<unknown> {
  const file = join(folder, 'endless.yaml')
  writeFileSync(
    file,
    `{ gateway: endless, version: "1", model: m, new_key: [{ get: / }], ${sections} }`,
  )
  const args = [PROGRAM, 'run', file, '--busy', '--yes', '--postgres', 'postgres://127.0.0.1:1/x']
  const env = {
    ...process.env,
    HOME: folder,
    TMPDIR: folder,
    PATH: `${folder}:${process.env['PATH']}`,
  }
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' })
  writeFileSync(pidFile, String(child.pid))
  const ended = once(child, 'close')
  await expect.poll(processes).toHaveLength(2)
  child.kill(signal)
  return (await ended)[0]
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)(
  '%s ends what the run started, drops its database and removes its folder',
  async (signal, code) => {
    const start = `start: { run: ${ENDLESS}, ready: GET /, within_s: 1000 }`
    expect(await stopped(signal, `needs: [postgres], ${start}`)).toBe(code)
    await expect.poll(processes).toEqual([])
    expect(readdirSync(folder).filter((name) => name.startsWith('gateway-books-'))).toEqual([])
    const [created = '', dropped] = readFileSync(told, 'utf8').trim().split('\n').slice(-2)
    expect(created).toMatch(/^create database books_\d+_\d+$/)
    expect(dropped).toBe(`${created.replace('create', 'drop')} with (force)`)
  },
)

test('a signal ends an installation too', async () => {
  expect(
    await stopped(
      'SIGTERM',
      `install: [${ENDLESS}], start: { run: "true", ready: GET /, within_s: 1 }`,
    ),
  ).toBe(143)
  await expect.poll(processes).toEqual([])
})
