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

/** The last line. */
async function tallyOf(texts: Readonly<Record<string, string>>): Promise<string | undefined> {
  return (await reportOf(texts)).at(-1)
}

const HEAD = `import { beforeAll, describe, expect, test } from 'vitest'\n`

test('a run ends with one line that counts passed and failed tests', async () => {
  const tally = await tallyOf({
    'sums.check.js': `${HEAD}
      test('passes', () => {})
      test.each([1, 2])('passes with %i', () => {})
      test('fails', () => { expect(1).toBe(2) })
    `,
  })
  expect(tally).toBe('3 passed, 1 failed')
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

test('each failed test, hook and file that does not load is named above that line, with the first lines of its error', async () => {
  const lines = await reportOf({
    'seeds.check.js': `${HEAD} describe('a history', () => {
      test('ends', () => { throw new Error('Property failed\\n{ seed: 7 }\\nGot\\nmore') })
    })`,
    'throws.check.js': `${HEAD} throw new Error('at load')`,
    'hook.check.js': `${HEAD} describe('sums', () => {
      beforeAll(() => { throw new Error('in a hook') })
      test('is left out', () => {})
    })`,
  })
  const failed = lines.slice(lines.findIndex((line) => line.startsWith('failed: ')))
  expect(failed.join('\n').split('failed: ').slice(1).toSorted()).toEqual([
    'hook.check.js > sums\n  in a hook\n',
    'seeds.check.js > a history > ends\n  Property failed\n  { seed: 7 }\n  Got\n',
    'throws.check.js\n  at load\n0 passed, 3 failed',
  ])
})

test('an error outside of any test counts as failed', async () => {
  const tally = await tallyOf({
    'stray.check.js': `${HEAD} test('passes', () => { Promise.reject(new Error('stray')) })`,
  })
  expect(tally).toBe('1 passed, 1 failed')
})
