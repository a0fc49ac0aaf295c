import { expect, test } from 'vitest'
import { type CommandWithTest, checkDocumentedCommands } from './documented-commands.ts'
import { checkChangelog, checkLinks, checkTitles } from './markdown.ts'
import { judgeToyTree } from './toy-tree.ts'

const FENCE = '```'
const page = (commands: string) => `# Page\n\n${FENCE}sh\n${commands}\n${FENCE}\n`

test('a Markdown file of one title on top passes; # in a code block is no title', async () => {
  const text = `# Title\n\n## Part\n\n${FENCE}sh\n# a comment\n${FENCE}\n`
  expect(await judgeToyTree(checkTitles, { 'docs/a.md': text })).toEqual([])
})

test.each(['', '## Part\n', '# One\n\n# Two\n', 'Words first.\n\n# Title\n'])(
  'a Markdown file fails without one title on top: %j',
  async (text) => {
    expect(await judgeToyTree(checkTitles, { 'docs/a.md': text })).toEqual([
      expect.stringContaining('opens with one "# Title"'),
    ])
  },
)

test('links to files, folders, headings and other sites pass', async () => {
  const verdict = await judgeToyTree(checkLinks, {
    'README.md':
      '[a](docs/a.md) [b](docs/a.md#what-it-does) [c](docs/) [d](https://example.com/x) [e](LICENSE)',
    'docs/a.md':
      '# A\n\n## What it does\n\n[up](../README.md) [here](#what-it-does) `[x](not-a-link.md)`',
  })
  expect(verdict).toEqual([])
})

test.each([
  ['[a](b.md)', 'b.md, which is not there'],
  ['![a](b.png)', 'b.png, which is not there'],
  ['[a]: b.md', 'b.md, which is not there'],
  ['[a](#nowhere)', '#nowhere, which has no such heading'],
  ['[a](README.md#nowhere)', 'README.md#nowhere, which has no such heading'],
])('%s links to what is not there', async (text, reason) => {
  expect(await judgeToyTree(checkLinks, { 'README.md': `# Title\n\n${text}\n` })).toEqual([
    `README.md:3 links to ${reason}`,
  ])
})

const MANIFEST = { 'package.json': '{"version":"0.2.0"}' }

test('a changelog with the version of the package on top and the buckets in order passes', async () => {
  const text = `# Changes

## 0.2.0 (2026-11-23)

### Upgrade notes

### Fixed

## 0.1.0 (2026-11-22)

### Added
`
  expect(await judgeToyTree(checkChangelog, { ...MANIFEST, 'CHANGELOG.md': text })).toEqual([])
})

const TOP = '# Changes\n\n## 0.2.0 (2026-11-23)\n'
test.each([
  ['# Changes\n', 'has no version'],
  ['# Changes\n\n## 0.1.0 (2026-11-22)\n', '"0.1.0" is on top, and package.json has 0.2.0'],
  ['# Changes\n\n## Unreleased\n', '"Unreleased" is no version with its date'],
  [`${TOP}\n## 0.1.0\n`, '"0.1.0" is no version with its date'],
  [`${TOP}\n### Features\n`, '"Features": the buckets are'],
  [`${TOP}\n### Fixed\n\n### Added\n`, '"Added": the buckets are'],
  [
    `${TOP}\n### Added\n\n- A key can be rotated with a grace period.\n- A key can be rotated with a grace of 24 h.\n`,
    'begins as the entry on line 7 does',
  ],
])('a changelog fails: %j', async (text, reason) => {
  expect(await judgeToyTree(checkChangelog, { ...MANIFEST, 'CHANGELOG.md': text })).toEqual([
    expect.stringContaining(reason),
  ])
})

test('a tree without a changelog fails', async () => {
  expect(await judgeToyTree(checkChangelog, {})).toEqual(['CHANGELOG.md is missing'])
})

const COMMANDS: readonly CommandWithTest[] = [
  { command: 'npx tollgate --help', testPath: 'test/help.test.ts', testName: 'help is printed' },
]

function judgeCommands(texts: Readonly<Record<string, string>>): Promise<string[]> {
  return judgeToyTree((files) => checkDocumentedCommands(files, COMMANDS), {
    'package.json': '{ "scripts": { "test": "vitest run", "start": "node .", "format": "biome" } }',
    'test/help.test.ts': `test('help is printed', () => {})`,
    ...texts,
  })
}

test('commands of the build, scripts and commands with a test pass', async () => {
  const verdict = await judgeCommands({
    '.ci/run': '#!/bin/sh\nnpm install || exit 1\npart npm test\n',
    'CONTRIBUTING.md': page(
      'npm install   # once\n\nnpm test\nnpm test -- test/help.test.ts\nnpm run format',
    ),
    'README.md': page('npm install && npm start\nnpx \\\n  tollgate --help'),
  })
  expect(verdict).toEqual([])
})

test.each([
  ['make lint', 'nothing runs "make lint"'],
  ['npx tollgate serve', 'nothing runs "npx tollgate serve"'],
  ['npm run lint', 'package.json has no script "lint"'],
  ['npm test -- src/gone.test.ts', 'src/gone.test.ts is not there'],
  ['npm run format && make lint', 'nothing runs "make lint"'],
])('a page that shows %s fails', async (command, reason) => {
  expect(await judgeCommands({ 'README.md': page(command) })).toEqual([
    expect.stringContaining(reason),
  ])
})

test('a command without its test fails', async () => {
  const verdict = await judgeCommands({
    'README.md': page('npx tollgate --help'),
    'test/help.test.ts': `test('something else', () => {})`,
  })
  expect(verdict).toEqual([expect.stringContaining('is held by no test')])
})

test('a command that the build runs and CONTRIBUTING.md lacks fails', async () => {
  const verdict = await judgeCommands({
    '.ci/run': 'part npm run check &\n',
    'CONTRIBUTING.md': page('npm test'),
  })
  expect(verdict).toEqual(['.ci/run runs "npm run check", CONTRIBUTING.md does not say so'])
})
