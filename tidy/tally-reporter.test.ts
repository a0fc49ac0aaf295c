import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startVitest } from 'vitest/node'
import { TallyReporter } from './tally-reporter.ts'

/** Runs Vitest on files of a temporary folder: the line that the reporter ends with. */
async function tallyOf(texts: Readonly<Record<string, string>>): Promise<string[]> {
  // Below the repository, where the files find Vitest; below node_modules, where nothing else looks.
  const parent = join(import.meta.dirname, '../node_modules/.tally')
  await mkdir(parent, { recursive: true })
  const root = await mkdtemp(join(parent, 'run-'))
  const exitCode = process.exitCode
  try {
    for (const [path, text] of Object.entries(texts)) await writeFile(join(root, path), text)
    const lines: string[] = []
    const vitest = await startVitest([], {
      root,
      config: false,
      watch: false,
      include: ['*.check.js'],
      exclude: [],
      reporters: [new TallyReporter((line) => lines.push(line))],
    })
    await vitest.close()
    return lines
  } finally {
    process.exitCode = exitCode
    await rm(root, { recursive: true })
  }
}

const HEAD = `import { beforeAll, describe, expect, test } from 'vitest'\n`

test('a run ends with one line that counts what passed and what failed', async () => {
  const lines = await tallyOf({
    'sums.check.js': `${HEAD}
      test('passes', () => {})
      test.each([1, 2])('passes with %i', () => {})
      test('fails', () => { expect(1).toBe(2) })
    `,
  })
  expect(lines).toEqual(['3 passed, 1 failed'])
})

test('a file that does not load counts as failed', async () => {
  const lines = await tallyOf({
    'loads.check.js': `${HEAD} test('passes', () => {})`,
    'throws.check.js': `${HEAD} throw new Error('at load')`,
  })
  expect(lines).toEqual(['1 passed, 1 failed'])
})

test('a hook that fails and an error outside of any test count as failed', async () => {
  const lines = await tallyOf({
    'hook.check.js': `${HEAD} describe('sums', () => {
      beforeAll(() => { throw new Error('in a hook') })
      test('is left out', () => {})
    })`,
    'stray.check.js': `${HEAD} test('passes', () => { Promise.reject(new Error('stray')) })`,
  })
  expect(lines).toEqual(['1 passed, 2 failed'])
})
