import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startVitest } from 'vitest/node'
import { slowestFiles, TallyReporter } from './tally-reporter.ts'

/** Runs Vitest on files of a temporary folder: the lines that the reporter ends with. */
async function reportOf(texts: Readonly<Record<string, string>>): Promise<string[]> {
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

/** The lines behind those of the slowest files. */
async function tallyOf(texts: Readonly<Record<string, string>>): Promise<string[]> {
  const lines = await reportOf(texts)
  return lines.slice(lines.findLastIndex((line) => line.includes(' s  ')) + 1)
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

test('the five slowest files of each project are named, the slowest first', () => {
  const files = [30, 5_000, 120_500, 60, 90, 10].map((tookMs) => ({
    project: 'one',
    path: `${tookMs}.test.ts`,
    tookMs,
  }))
  const lines = slowestFiles([...files, { project: '', path: 'other.test.ts', tookMs: 1_000 }])
  expect(lines).toEqual([
    'slowest of one:',
    '   120.5 s  120500.test.ts',
    '     5.0 s  5000.test.ts',
    '     0.1 s  90.test.ts',
    '     0.1 s  60.test.ts',
    '     0.0 s  30.test.ts',
    'slowest of all files:',
    '     1.0 s  other.test.ts',
  ])
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
