import { expect, test } from 'vitest'
import { wordsOf } from './declarations.ts'
import { checkFileNames, checkWords } from './names.ts'
import { judgeToyTree } from './toy-tree.ts'
import { checkUnits } from './units.ts'

test.each([
  'src/utils.ts',
  'src/formats/helpers/read.ts',
  'src/formats/json-utils.ts',
  'src/common/a.ts',
  'simulator/types.ts',
  'test/lib/a.ts',
  'src/formats/wire.types.ts',
  'src/http/services/a.ts',
])('%s is a name that says nothing', async (path) => {
  expect(await judgeToyTree(checkFileNames, { [path]: '' })).toEqual([
    expect.stringContaining('says nothing'),
  ])
})

test.each(['src/issue-12.test.ts', 'src/settle.1.test.ts'])('%s is a number', async (path) => {
  expect(await judgeToyTree(checkFileNames, { [path]: '' })).toEqual([
    expect.stringContaining('is a number'),
  ])
})

test('names of the domain pass, even with a banned word inside', async () => {
  const verdict = await judgeToyTree(checkFileNames, {
    'src/formats/content-type.ts': '',
    'src/formats/service-tier.ts': '',
    'src/ledger/open-hold.test.ts': '',
    'docs/types.md': '',
  })
  expect(verdict).toEqual([])
})

test.each([
  ['interface Entry { readonly amount: number }', 'amount'],
  ['const timeout = 500', 'timeout'],
  ['let maxDelay: number', 'maxDelay'],
  ['function wait(interval: number) {}', 'interval'],
  ['function wait(interval = 50) {}', 'interval'],
  ['interface A { readonly bodySize: number | null }', 'bodySize'],
  ['interface A { readonly sizeMax: number }', 'sizeMax'],
  ['class A { #ttl = 60 * 1000 }', 'ttl'],
  ['const [byteLimit = 3] = limits', 'byteLimit'],
  ['const elapsed = endedAtMs - startedAtMs', 'elapsed'],
  ['const HOLD_AMOUNT = 5n', 'HOLD_AMOUNT'],
  ['const price = Number(text)', 'price'],
  ['const cost = Math.ceil(tokens / 3)', 'cost'],
])('%s has no unit', async (text, name) => {
  expect(await judgeToyTree(checkUnits, { 'src/a.ts': text })).toEqual([
    expect.stringContaining(`src/a.ts:1 ${name} is a number without a unit`),
  ])
})

test('units, branded types, fields on the wire and counts pass', async () => {
  const verdict = await judgeToyTree(checkUnits, {
    'src/a.ts': `
      const timeoutMs = 500
      const bodyBytesMax = 32 * 1024 * 1024
      const holdMicros: Micros = micros(5)
      interface Row { readonly price: Picos; credit_limit: number | null; 'max_size': number; size: string }
      const { limit } = query
      pool.connect({ timeout: timeoutMs })
      const attempts = 3
      function priceOf(model: string): Picos { return prices.get(model) }
    `,
    'src/vocabulary/entry.ts': 'interface Entry { readonly amount: number }',
  })
  expect(verdict).toEqual([])
})

test.each([
  ['src/ledger/a.ts', 'const credit = purse.backed', 'credit', 'backedCredit'],
  ['src/http/a.ts', 'function check(token: string) {}', 'token', 'inputTokens'],
  ['src/http/a.ts', 'for (const key of keys) check(key)', 'key', 'apiKey'],
  ['src/http/a.ts', 'for (const [id, row] of rows) check(id, row)', 'id', 'whose id'],
  ['src/http/a.ts', 'const { statusCode: status } = answer', 'status', 'httpStatus'],
  ['src/journey/relay/a.ts', 'const request = read()', 'request', 'clientRequest'],
  ['src/http/a.ts', 'function open(options: Options) {}', 'options', 'the fields'],
  ['src/http/a.ts', 'const data = await read()', 'data', 'what it is'],
  ['src/http/a.ts', 'class UpstreamManager {}', 'UpstreamManager', 'what it is'],
  ['src/http/a.ts', 'interface JsonUtils {}', 'JsonUtils', 'what it is'],
  ['src/http/a.ts', 'const backendUrl = read()', 'backendUrl', 'upstream'],
  ['src/http/a.ts', 'function handleBody() {}', 'handleBody', 'the verb'],
  ['src/http/a.ts', 'const processBody = () => {}', 'processBody', 'the verb'],
  ['src/http/a.ts', 'class A { manageKeys() {} }', 'manageKeys', 'the verb'],
  ['src/ledger/a.ts', 'function reserveCredit() {}', 'reserveCredit', 'openHold'],
  [
    'src/journey/relay/a.ts',
    'const transformed = 1; function transformChunk() {}',
    'transformChunk',
    'relay',
  ],
])('in %s, %s is better said otherwise', async (path, text, name, instead) => {
  expect(await judgeToyTree(checkWords, { [path]: text })).toEqual([
    expect.stringContaining(`${path}:1 ${name}: say ${instead}`),
  ])
})

test('fields, the names of fields, tests and the right words pass', async () => {
  const verdict = await judgeToyTree(checkWords, {
    'src/ledger/a.ts': `
      interface Row { readonly id: string; readonly status: number; readonly key: string }
      const { id, status } = row
      const reply = { id: requestId, data: rows, status: 'open' }
      const apiKey = keyText.trim()
      const inputTokens = usage.input
      const processId = process.pid
      const backedCredit = purse.backed
      function findAccount(id: string) { return rows.get(id) }
      const open = rows.filter((id) => holds.has(id))
    `,
    'src/ledger/a.test.ts': 'const data = 1',
    'src/main.ts': 'const config = readConfig()',
    'src/cli/a.ts': 'command.action((options) => { serve(options) })',
    'simulator/a.ts': 'const data = 1',
  })
  expect(verdict).toEqual([])
})

test('a name is split into its words', () => {
  expect(wordsOf('maxBodyBytes')).toEqual(['max', 'body', 'bytes'])
  expect(wordsOf('HTTPStatus')).toEqual(['http', 'status'])
  expect(wordsOf('TOOL_STEPS_DEFAULT')).toEqual(['tool', 'steps', 'default'])
})
