import { expect, test } from 'vitest'
import type { ProblemRow } from '../src/vocabulary/problem.ts'
import { checkArchitecturePage } from './architecture-page.ts'
import { checkConfigPage } from './config-page.ts'
import { checkErrorsPage } from './errors-page.ts'
import { checkMetricsPage } from './metrics-page.ts'
import { judgeToyTree } from './toy-tree.ts'

const PROBLEMS: Readonly<Record<string, ProblemRow>> = {
  not_found: { httpStatus: 404, owner: 'client', retryable: false, message: 'Nothing is here.' },
  rate_limited: { httpStatus: 429, owner: 'client', retryable: true, message: 'Too many.' },
}

const NOT_FOUND = '| `not_found` | 404 | client | no | Nothing is here. | Look elsewhere. |'
const RATE_LIMITED = '| `rate_limited` | 429 | client | yes | Too many. | Wait. |'

function judgeErrors(...rows: readonly string[]): Promise<string[]> {
  return judgeToyTree((files) => checkErrorsPage(files, PROBLEMS), {
    'docs/errors.md': `# Errors\n| Code | Status |\n|---|---|\n${rows.join('\n')}\n`,
  })
}

test('a page with each problem as it is in the table passes, in any order', async () => {
  expect(await judgeErrors(NOT_FOUND, RATE_LIMITED)).toEqual([])
  expect(await judgeErrors(RATE_LIMITED, NOT_FOUND)).toEqual([])
})

test.each([
  ['status', NOT_FOUND.replace('404', '410')],
  ['owner', NOT_FOUND.replace('client', 'billing')],
  ['answer to whether to try again', NOT_FOUND.replace('| no |', '| yes |')],
])('a row with another %s fails', async (_, row) => {
  expect(await judgeErrors(row, RATE_LIMITED)).toEqual([
    expect.stringContaining('the table of problems says 404, client, no'),
  ])
})

test('a row without advice fails', async () => {
  expect(await judgeErrors(NOT_FOUND.replace('Look elsewhere.', ''), RATE_LIMITED)).toEqual([
    'docs/errors.md:4 not_found: says not what it means and what to do',
  ])
})

test('a problem without a row, a row without a problem and a row that stands twice fail', async () => {
  expect(await judgeErrors(NOT_FOUND)).toEqual(['docs/errors.md rate_limited: has no row'])
  const gone = NOT_FOUND.replace('not_found', 'gone')
  expect(await judgeErrors(NOT_FOUND, RATE_LIMITED, gone)).toEqual([
    'docs/errors.md:6 gone: no problem has this code',
  ])
  expect(await judgeErrors(NOT_FOUND, RATE_LIMITED, NOT_FOUND)).toEqual([
    'docs/errors.md:6 not_found: stands twice',
  ])
})

test('a tree without the page of errors fails', async () => {
  expect(await judgeToyTree((files) => checkErrorsPage(files, PROBLEMS), {})).toEqual([
    'docs/errors.md is missing',
  ])
})

const SETTINGS = {
  PORT: { fallback: '8787', description: 'Port to listen on.' },
  API_TOKEN: { fallback: null, description: 'Unset: none.' },
}
const PORT = '| `PORT` | `8787` | Port to listen on. |'
const API_TOKEN = '| `API_TOKEN` | - | Unset: none. |'

function judgeConfig(...rows: readonly string[]): Promise<string[]> {
  return judgeToyTree((files) => checkConfigPage(files, SETTINGS), {
    'docs/config.md': `# Settings\n| Setting | Default |\n|---|---|\n${rows.join('\n')}\n`,
  })
}

test('a page with each setting as it is passes, in any order', async () => {
  expect(await judgeConfig(PORT, API_TOKEN)).toEqual([])
  expect(await judgeConfig(API_TOKEN, PORT)).toEqual([])
})

test.each([
  ['default', PORT.replace('8787', '80')],
  ['default where there is none', PORT.replace('`8787`', '-')],
  ['description', PORT.replace('listen', 'talk')],
])('a setting with another %s fails', async (_, row) => {
  expect(await judgeConfig(row, API_TOKEN)).toEqual([
    expect.stringContaining('the setting says "`8787` | Port to listen on."'),
  ])
})

test('a setting without a row, a row without a setting and a row that stands twice fail', async () => {
  expect(await judgeConfig(PORT)).toEqual(['docs/config.md API_TOKEN: has no row'])
  expect(await judgeConfig(PORT, API_TOKEN, PORT.replace('PORT', 'HOST'))).toEqual([
    'docs/config.md:6 HOST: no setting has this name',
  ])
  expect(await judgeConfig(PORT, API_TOKEN, PORT)).toEqual(['docs/config.md:6 PORT: stands twice'])
})

test('a tree without the page of settings fails', async () => {
  expect(await judgeToyTree((files) => checkConfigPage(files, SETTINGS), {})).toEqual([
    'docs/config.md is missing',
  ])
})

const METRICS = {
  tollgate_requests_total: { kind: 'counter', labels: ['endpoint', 'model'], help: 'Requests.' },
  tollgate_wait_seconds: { kind: 'histogram', labels: [], help: 'Waits.' },
}
const REQUESTS =
  '| `tollgate_requests_total` | counter | `endpoint` `model` | Requests. | It falls. |'
const WAITS = '| `tollgate_wait_seconds` | histogram | - | Waits. | It grows. |'

function judgeMetrics(...lines: readonly string[]): Promise<string[]> {
  return judgeToyTree((files) => checkMetricsPage(files, METRICS), {
    'docs/metrics.md': `# Metrics\n| Metric | Type |\n|---|---|\n${lines.join('\n')}\n`,
  })
}

test('a page with each metric as it is, and alerts on them alone, passes in any order', async () => {
  expect(await judgeMetrics(REQUESTS, WAITS)).toEqual([])
  const alert = ['', '```yaml', 'expr: rate(tollgate_wait_seconds_bucket[5m]) > 0', '```']
  expect(await judgeMetrics(WAITS, REQUESTS, ...alert)).toEqual([])
})

test.each([
  ['type', REQUESTS.replace('counter', 'gauge')],
  ['label', REQUESTS.replace('`model`', '`key`')],
  ['meaning', REQUESTS.replace('Requests.', 'Answers.')],
])('a metric with another %s fails', async (_, row) => {
  expect(await judgeMetrics(row, WAITS)).toEqual([
    expect.stringContaining('the metric says "counter | `endpoint` `model` | Requests."'),
  ])
})

test('a metric without a row, without worries, unknown, or in an alert alone fails', async () => {
  expect(await judgeMetrics(REQUESTS)).toEqual([
    'docs/metrics.md tollgate_wait_seconds: has no row',
  ])
  expect(await judgeMetrics(REQUESTS, WAITS.replace('It grows.', ''))).toEqual([
    'docs/metrics.md:5 tollgate_wait_seconds: says not when to worry',
  ])
  expect(await judgeMetrics(REQUESTS, WAITS, WAITS.replace('wait', 'sleep'))).toEqual([
    'docs/metrics.md:6 tollgate_sleep_seconds: no metric has this name',
  ])
  expect(await judgeMetrics(REQUESTS, WAITS, '```', 'tollgate_naps > 1', '```')).toEqual([
    'docs/metrics.md:7 tollgate_naps: no metric has this name',
  ])
})

test('a tree without the page of metrics fails', async () => {
  expect(await judgeToyTree((files) => checkMetricsPage(files, METRICS), {})).toEqual([
    'docs/metrics.md is missing',
  ])
})

const MANIFEST = '{ "dependencies": { "kysely": "1" }, "devDependencies": { "vitest": "1" } }'

function judgeArchitecture(text: string): Promise<string[]> {
  return judgeToyTree((files) => checkArchitecturePage(files, [['store'], ['wire', 'ledger']]), {
    'package.json': MANIFEST,
    'ARCHITECTURE.md': text,
  })
}

const ARCHITECTURE = `# Architecture

## Layers

| Row | Places |
|---|---|
| 0 | \`store\` |
| 1 | \`wire\` \`ledger\` |

## Dependencies

| Package | For |
|---|---|
| \`kysely\` | SQL |
| \`vitest\` | tests |
`

test('a page with the layers and dependencies as they are passes', async () => {
  expect(await judgeArchitecture(ARCHITECTURE)).toEqual([])
})

test('a page with a layer in another place fails', async () => {
  expect(await judgeArchitecture(ARCHITECTURE.replace(' `ledger`', ''))).toEqual([
    'ARCHITECTURE.md shows the layers store | wire; the rule holds store | wire ledger',
  ])
})

test('a dependency that is not explained, and one that is not installed, fail', async () => {
  expect(await judgeArchitecture(ARCHITECTURE.replace('vitest', 'jest'))).toEqual([
    'ARCHITECTURE.md does not say what vitest is for',
    'ARCHITECTURE.md says what jest is for, which is not installed',
  ])
})
