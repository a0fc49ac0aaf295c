import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const BUILD = join(import.meta.dirname, 'build.ts')
const IF_STALE = ['--if-stale']

const folder = mkdtempSync(join(tmpdir(), 'tollgate-build-'))
/** The files of the build in the folder `usual`, which was empty. */
let usual: string[]

beforeAll(async () => {
  usual = await build('usual', { args: IF_STALE })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Builds into a folder below, and returns the names of its files, which have the hashes of what is in them. */
async function build(name: string, { args = [], env = {} }: BuildInput = {}): Promise<string[]> {
  const out = join(folder, name)
  const { NODE_ENV: _, ...own } = process.env
  await promisify(execFile)(process.execPath, [BUILD, ...args, out], { env: { ...own, ...env } })
  return readdirSync(out, { recursive: true }).map(String).sort()
}

interface BuildInput {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

test('with --if-stale a build of the same sources is kept', async () => {
  const stamp = join(folder, 'usual', 'stamp.json')
  const { mtimeMs } = statSync(stamp)
  expect(await build('usual', { args: IF_STALE })).toEqual(usual)
  expect(statSync(stamp).mtimeMs).toBe(mtimeMs)
})

test('a build of other sources is made again, and is the same with another NODE_ENV in its environment', async () => {
  expect(usual.some((name) => name.endsWith('.js'))).toBe(true)
  writeFileSync(join(folder, 'usual', 'stamp.json'), '{"stamp":"other sources"}')
  rmSync(join(folder, 'usual', 'index.html'))
  const env = { NODE_ENV: 'development' }
  expect(await build('usual', { args: IF_STALE, env })).toEqual(usual)
})
