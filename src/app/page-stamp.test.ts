import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { faultOfBuild, sourceStamp } from './page-stamp.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tollgate-stale-'))
  write('package-lock.json', '{}')
  for (const folder of ['web', 'src/http/page', 'src/operations', 'src/vocabulary']) {
    write(`${folder}/main.tsx`, 'first')
  }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}

async function build(): Promise<void> {
  write('build/web/stamp.json', JSON.stringify({ stamp: await sourceStamp(root) }))
}

test('a page that is built from its sources has no fault', async () => {
  await build()
  expect(await faultOfBuild(root)).toBeNull()
})

test.each(['web/main.tsx', 'web/parts/new.tsx', 'src/operations/main.tsx', 'package-lock.json'])(
  'a page is stale once %s has changed',
  async (path) => {
    await build()
    write(path, 'changed')
    expect(await faultOfBuild(root)).toContain('other sources')
  },
)

test('a checkout without a build names the command that makes one', async () => {
  expect(await faultOfBuild(root)).toContain('npm run build:page')
})

test('a package without the sources of the page has nothing to compare', async () => {
  await build()
  rmSync(join(root, 'web'), { recursive: true })
  expect(await faultOfBuild(root)).toBeNull()
})
