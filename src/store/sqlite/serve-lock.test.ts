import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acquireServeLock, ServeLockHeld } from './sqlite-connection.ts'

const CHILD = fileURLToPath(new URL('../testing/serve-lock-child.ts', import.meta.url))

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-lock-'))
  file = join(folder, 'store.db')
})

afterEach(() => rm(folder, { recursive: true }))

test('one process serves at a time, and the next after its release', () => {
  const lock = acquireServeLock(file)
  expect(() => acquireServeLock(file)).toThrow(ServeLockHeld)
  expect(() => acquireServeLock(file)).toThrow(/stop it first, or set DATABASE_URL/)
  lock.release()
  acquireServeLock(file).release()
})

test('only the owner of the lock can open it, and so lock the store', async () => {
  acquireServeLock(file).release()
  expect((await stat(`${file}.lock`)).mode & 0o777).toBe(0o600)
})

test('stores side by side are served side by side', () => {
  const lock = acquireServeLock(file)
  expect(() => acquireServeLock(join(folder, 'other.db')).release()).not.toThrow()
  lock.release()
})

async function linkElsewhere(): Promise<string> {
  const link = join(folder, 'elsewhere', 'link.db')
  await mkdir(join(folder, 'elsewhere'))
  await symlink('../store.db', link)
  return link
}

/** A link in a folder that is a link too. */
async function linkInLinkedFolder(): Promise<string> {
  await mkdir(join(folder, 'site', 'releases', '7'), { recursive: true })
  await symlink('releases/7', join(folder, 'site', 'current'))
  await symlink('../../../store.db', join(folder, 'site', 'releases', '7', 'store.db'))
  return join(folder, 'site', 'current', 'store.db')
}

test.each([
  ['that exists', true, linkElsewhere],
  ['that the first server is about to make', false, linkElsewhere],
  ['that the first server is about to make, over linked folders', false, linkInLinkedFolder],
])('a store %s is served once, even if symbolic links lead to it', async (_, exists, makeLink) => {
  if (exists) await writeFile(file, '')
  const link = await makeLink()
  const lock = acquireServeLock(link)
  await writeFile(file, '')
  expect(() => acquireServeLock(file)).toThrow(ServeLockHeld)
  expect(() => acquireServeLock(link)).toThrow(ServeLockHeld)
  lock.release()
  acquireServeLock(file).release()
})

test('a server that locks next to the link, as 0.2.0 does, is noticed', async () => {
  const link = await linkElsewhere()
  const earlier = new DatabaseSync(`${link}.lock`)
  earlier.exec('pragma journal_mode = memory; begin exclusive')
  expect(() => acquireServeLock(link)).toThrow(ServeLockHeld)
  earlier.close()
  acquireServeLock(link).release()
  acquireServeLock(file).release()
})

test('the lock of another process holds, and is free once that was killed', async () => {
  const child = spawn(process.execPath, [CHILD, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  expect(() => acquireServeLock(file)).toThrow(ServeLockHeld)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  acquireServeLock(file).release()
})
